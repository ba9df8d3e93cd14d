-- up.now in 1.0
local up = require "uplua"
print(up.now() > 0)
--> true
