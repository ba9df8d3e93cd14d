-- Variable:set in 1.0
local up = require "uplua"
local v = up.var(1)
v:set(23)
print(v:get())
--> 23
