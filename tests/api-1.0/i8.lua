-- up.i8 in 1.0
local up = require "uplua"
print(up.i8(2^40 + 7))
--> 7
