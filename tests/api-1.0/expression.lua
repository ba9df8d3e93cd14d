-- up.expression in 1.0, on the shop
local up = require "uplua"
local n = up.count()
local customer = up.expression("e.arg1", { name = "--key", kind = "number" })
up.uprobe("./shop:sell", function(e) n[customer(e)]:inc() end)
up.at_exit(function() print(n:size(), n:get(22)) end)
--> 23	4
