-- text.integer in 1.0
local text = require "uplua.text"
print(text.integer(1204551), text.integer(2ULL ^ 63))
--> 1204551	9223372036854775808
