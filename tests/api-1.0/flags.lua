-- up.flags in 1.0
local up = require "uplua"
print(up.flags("open", 66))
--> O_RDWR|O_CREAT
