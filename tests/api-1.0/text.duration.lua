-- text.duration in 1.0
local text = require "uplua.text"
print(text.duration "100ms", text.duration(23), (text.duration "soon"))
--> 100000000	23	nil
