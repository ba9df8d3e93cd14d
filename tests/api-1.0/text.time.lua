-- text.time in 1.0
local text = require "uplua.text"
print(text.time(1200000))
--> 1.2 ms
