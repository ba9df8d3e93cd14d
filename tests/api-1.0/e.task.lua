-- e.task in 1.0, on the shop
local up = require "uplua"
local v = up.var(0)
up.uprobe("./shop:sell", function(e) v:set(e.task.tgid - e.pid) end)
up.at_exit(function() print(v:get()) end)
--> 0
