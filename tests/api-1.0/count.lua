-- up.count in 1.0, on the shop
local up = require "uplua"
local n = up.count { max = 23 }
up.uprobe("./shop:sell", function(e) n[e.arg1]:inc() end)
up.at_exit(function() print(n:size(), n:get(0)) end)
--> 23	5
