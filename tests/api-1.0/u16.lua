-- up.u16 in 1.0
local up = require "uplua"
print(up.u16(-1))
--> 65535
