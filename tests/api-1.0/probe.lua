-- up.probe in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.probe({ "uprobe:./shop:sell", "./shop:sell" }, function(e) n:inc() end)
up.at_exit(function() print(n:get()) end)
--> 101
