-- up.u8 in 1.0
local up = require "uplua"
print(up.u8(-1))
--> 255
