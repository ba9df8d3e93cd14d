-- e.period in 1.0, on the shop
local up = require "uplua"
local v = up.var(0)
up.perf("page-faults", 1, function(e) v:set(e.period) end)
up.at_exit(function() print(v:get()) end)
--> 1
