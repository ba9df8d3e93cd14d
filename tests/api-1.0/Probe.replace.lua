-- Probe:replace in 1.0, on the shop
local up = require "uplua"
local n = up.count()
local p = up.uprobe("./shop:sell", function(e) n:inc() end)
p:replace(function(e) if e.arg1 == 22 then n:inc() end end)
up.at_exit(function() print(n:get()) end)
--> 4
