-- Map:clear in 1.0
local up = require "uplua"
local m = up.hash()
m:set("top", 3)
m:set("get", 5)
m:clear()
print(m:size())
--> 0
