-- up.raw_tracepoint in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.raw_tracepoint("sched_process_exit", { all = false }, function(e) n:inc() end)
up.at_exit(function() print(n:get()) end)
--> 1
