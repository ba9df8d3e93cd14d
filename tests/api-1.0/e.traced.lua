-- e.traced in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.uprobe("./shop:sell", function(e) n[e.traced]:inc() end)
up.at_exit(function() print(n[true] > 0, n[false]) end)
--> true	0
