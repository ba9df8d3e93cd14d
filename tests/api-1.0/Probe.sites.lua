-- Probe:sites in 1.0, on the shop
local up = require "uplua"
local n = up.count()
local p = up.uprobe("./shop:sell", function(e) n:inc() end)
up.at_exit(function() print(p:sites()[1]["function"], #p:sites()) end)
--> sell	1
--> n: 101
