-- up.stats in 1.0, on the shop
local up = require "uplua"
local a = up.stats()
up.uprobe("./shop:sell", function(e) a:add(e.arg2) end)
up.at_exit(function() print(a.count, a.sum, a.min, a.max) end)
--> 101	297	0	6
