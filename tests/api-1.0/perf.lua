-- up.perf in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.perf("page-faults", 1, function(e) n:inc() end)
up.at_exit(function() print(n:get() > 0) end)
--> true
