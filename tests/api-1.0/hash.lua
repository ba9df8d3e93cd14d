-- up.hash in 1.0, on the shop
local up = require "uplua"
local m = up.hash { max = 64, key = "i64", value = "i64" }
up.uprobe("./shop:sell", function(e) m[e.arg1] = e.arg2 end)
up.at_exit(function() print(m:size(), m:get(22)) end)
--> 23	0
