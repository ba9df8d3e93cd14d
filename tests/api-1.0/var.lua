-- up.var in 1.0, on the shop
local up = require "uplua"
local v = up.var(0, "u32")
up.uprobe("./shop:sell", function(e) v:set(up.u32(e.arg1)) end)
up.at_exit(function() print(v:get()) end)
--> 8
