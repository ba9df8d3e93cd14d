-- Map:set in 1.0
local up = require "uplua"
local m = up.hash()
m:set("top", 3)
m:set("get", 5)
m:set("top", 7)
m:set("get", nil)
print(m:get "top", m:get "get")
--> 7	nil
