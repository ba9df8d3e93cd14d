-- sums.put in 1.0, on the shop
local up = require "uplua"
local sums = require "uplua.by".sums { "e.arg1" }
local values, put = sums.values, sums.put
up.uprobe("./shop:sell", function(e) put(values(e), e.func) end)
up.at_exit(function() print(sums:take():fill({}, "sell")["e.arg1"]) end)
--> 1048
