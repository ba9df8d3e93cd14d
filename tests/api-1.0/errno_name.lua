-- up.errno_name in 1.0
local up = require "uplua"
print(up.errno_name(2))
--> ENOENT
