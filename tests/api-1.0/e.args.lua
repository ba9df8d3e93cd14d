-- e.args in 1.0, on the shop
local up = require "uplua"
local v = up.var(0)
up.uprobe("./shop:sell", function(e) v:set(e.args.customer) end)
up.at_exit(function() print(v:get()) end)
--> 8
