-- up.array in 1.0, on the shop
local up = require "uplua"
local a = up.array { max = 23, value = "u32" }
up.uprobe("./shop:sell", function(e) a[e.arg1] = up.u32((a[e.arg1] or 0) + 1) end)
up.at_exit(function() print(a:get(0), a:get(22)) end)
--> 5	4
