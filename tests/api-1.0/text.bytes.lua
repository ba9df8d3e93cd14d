-- text.bytes in 1.0
local text = require "uplua.text"
print(text.bytes(1258291))
--> 1.2 MB
