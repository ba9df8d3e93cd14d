-- up.at_start in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.uprobe("./shop:sell", function(e) n:inc() end)
up.at_start(function() print(n:get()) end)
--> 0
