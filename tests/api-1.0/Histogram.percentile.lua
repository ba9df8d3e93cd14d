-- Histogram:percentile in 1.0, on the shop
local up = require "uplua"
local h = up.hist()
up.uprobe("./shop:sell", function(e) h:add(e.arg2) end)
up.at_exit(function() print(h:percentile(0), h:percentile(100)) end)
--> 0	6
