-- slices.new in 1.0, on the shop
local up = require "uplua"
local hits = require "uplua.slices".new { slice = "1ms", title = "Customer" }
up.uprobe("./shop:sell", function(e) hits:add(e.arg1) end)
up.at_exit(function() print(#hits:take(true) >= 23) end)
--> true
