-- Ring:emit in 1.0, on the shop
local up = require "uplua"
local r, n = up.ring(), up.count()
up.uprobe("./shop:sell", function(e) if r:emit { customer = e.arg1 } then n:inc() end end)
up.at_exit(function() print(n:get()) end)
--> 101
