-- text.width in 1.0
local text = require "uplua.text"
print(text.width "abc", text.width "▁▂")
--> 3	2
