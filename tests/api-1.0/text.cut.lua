-- text.cut in 1.0
local text = require "uplua.text"
print(text.cut("abcdef", 4), text.cut("abc", 4))
--> abc…	abc
