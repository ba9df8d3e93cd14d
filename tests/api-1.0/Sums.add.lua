-- sums.add in 1.0, on the shop
local up = require "uplua"
local sums = require "uplua.by".sums { "e.arg1" }
local add = sums.add
up.uprobe("./shop:sell", function(e) add(e, e.func) end)
up.at_exit(function() print(sums:take():fill({}, "sell")["e.arg1"]) end)
--> 1048
