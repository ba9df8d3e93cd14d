-- up.at_stop in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.uprobe("./shop:sell", function(e) n:inc() end)
up.at_stop(function() print(n:get()) end)
up.at_exit(function() print(n:get()) end)
--> 101
--> 101
