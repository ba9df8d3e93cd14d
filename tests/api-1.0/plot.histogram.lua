-- plot.histogram in 1.0, on the shop
local up = require "uplua"
local plot = require "uplua.plot"
local h = up.hist()
up.uprobe("./shop:sell", function(e) h:add(e.arg2) end)
up.at_exit(function() print(plot.histogram(h:get()):match "count %d+") end)
--> count 101
