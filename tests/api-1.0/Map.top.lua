-- Map:top in 1.0
local up = require "uplua"
local m = up.hash()
m:set("top", 3)
m:set("get", 5)
for key, value in m:top(1) do print(key, value) end
--> get	5
