-- up.i32 in 1.0
local up = require "uplua"
print(up.i32(2^40 + 7))
--> 7
