-- up.i64 in 1.0
local up = require "uplua"
print(up.i64(-7))
--> -7
