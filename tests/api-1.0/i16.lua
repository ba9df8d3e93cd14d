-- up.i16 in 1.0
local up = require "uplua"
print(up.i16(2^40 + 7))
--> 7
