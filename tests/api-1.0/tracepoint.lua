-- up.tracepoint in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.tracepoint("sched:sched_process_exit", { strings = 16 }, function(e) n:inc() end)
up.at_exit(function() print(n:get()) end)
--> 1
