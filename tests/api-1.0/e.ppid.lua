-- e.ppid in 1.0, on the shop
local up = require "uplua"
local v = up.var(-1)
up.uprobe("./shop:sell", function(e) v:set(e.ppid) end)
up.at_exit(function() print(v:get() > 1) end)
--> true
