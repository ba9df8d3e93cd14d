-- up.ring in 1.0, on the shop
local up = require "uplua"
local r, n = up.ring { size = "64K" }, 0
up.uprobe("./shop:sell", function(e) r:emit { customer = e.arg1 } end)
r:each(function() n = n + 1 end)
up.at_exit(function() print(n) end)
--> 101
