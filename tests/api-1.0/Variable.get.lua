-- Variable:get in 1.0
local up = require "uplua"
local v = up.var "text"
print(v:get())
--> text
