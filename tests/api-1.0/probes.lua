-- up.probes in 1.0, on the shop
local up = require "uplua"
local n = up.count()
local p = up.uprobe("./shop:sell", function(e) n:inc() end)
up.at_exit(function() print(up.probes()[1] == p, #up.probes()) end)
--> true	1
--> n: 101
