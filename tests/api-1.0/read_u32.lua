-- up.read_u32 in 1.0, on the shop
local up = require "uplua"
local v = up.var(0)
up.uprobe("./shop:sell", function(e) v:set(up.read_u32(e.arg0 + 8) or 0) end)
up.at_exit(function() print(v:get()) end)
--> 1100
