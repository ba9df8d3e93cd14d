-- up.lhist in 1.0, on the shop
local up = require "uplua"
local a = up.lhist(0, 6, 2)
up.uprobe("./shop:sell", function(e) a:add(e.arg2) end)
up.at_exit(function() print(a.count, a:percentile(0)) end)
--> 101	0
