-- Variable:add in 1.0
local up = require "uplua"
local v = up.var(1)
v:add(22)
print(v:get())
--> 23
