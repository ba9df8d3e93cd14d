-- up.u32 in 1.0
local up = require "uplua"
print(up.u32(-1))
--> 4294967295
