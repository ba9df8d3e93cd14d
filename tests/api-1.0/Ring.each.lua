-- Ring:each in 1.0, on the shop
local up = require "uplua"
local r, n = up.ring(), 0
up.uprobe("./shop:sell", function(e) r:emit { customer = e.arg1 } end)
r:each(function(ev) if ev.customer == 22 then n = n + 1 end end)
up.at_exit(function() print(n) end)
--> 4
