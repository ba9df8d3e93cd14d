-- up.hist in 1.0, on the shop
local up = require "uplua"
local a = up.hist()
up.uprobe("./shop:sell", function(e) a:add(e.arg2) end)
up.at_exit(function() print(a.count, a:percentile(100)) end)
--> 101	6
