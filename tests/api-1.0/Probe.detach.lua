-- Probe:detach in 1.0, on the shop
local up = require "uplua"
local n = up.count()
local p = up.uprobe("./shop:sell", function(e) n:inc() end)
print(p:detach() == p)
up.at_exit(function() print(n:get()) end)
--> true
--> 0
