-- Map:pairs in 1.0
local up = require "uplua"
local m = up.hash()
m:set("top", 3)
m:set("get", 5)
local sum = 0
for _, value in m:pairs() do sum = sum + value end
print(sum)
--> 8
