-- up.min in 1.0, on the shop
local up = require "uplua"
local a = up.min()
up.uprobe("./shop:sell", function(e) a:add(e.arg2) end)
up.at_exit(function() print(a:get()) end)
--> 0
