-- e.nargs in 1.0, on the shop
local up = require "uplua"
local v = up.var(0)
up.usdt("./shop:shop:sold", function(e) v:set(e.nargs) end)
up.at_exit(function() print(v:get()) end)
--> 3
