-- up.u64 in 1.0
local up = require "uplua"
print(up.u64(-1))
--> 18446744073709551615ULL
