-- e.time in 1.0, on the shop
local up = require "uplua"
local v = up.var(0)
up.uprobe("./shop:sell", function(e) v:set(e.time) end)
up.at_exit(function() print(v:get() > 1e9, v:get() <= up.now()) end)
--> true	true
