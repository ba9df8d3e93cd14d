-- Probe.hits in 1.0, on the shop
local up = require "uplua"
local n = up.count()
local p = up.uprobe("./shop:sell", function(e) n:inc() end)
up.at_exit(function() print(p.hits, p) end)
--> 101	uprobe ./shop:sell: 1 site, 101 hits, ended
--> n: 101
