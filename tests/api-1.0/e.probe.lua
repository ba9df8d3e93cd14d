-- e.probe in 1.0, on the shop
local up = require "uplua"
local v = up.var("")
up.uprobe("./shop:sell", function(e) v:set(e.probe) end)
up.at_exit(function() print(v:get()) end)
--> ./shop:sell
