-- up.copy in 1.0, on the shop
local up = require "uplua"
local r, kept = up.ring(), {}
up.uprobe("./shop:sell", function(e) if e.arg1 == 22 then r:emit { customer = e.arg1 } end end)
r:each(function(ev) kept[#kept + 1] = up.copy(ev) end)
up.at_exit(function() print(#kept, kept[1].customer) end)
--> 4	22
