-- up.kstr in 1.0, on the shop
local up = require "uplua"
local v = up.var("")
up.raw_tracepoint("sched_process_exit", function(e) v:set(up.kstr(e.task.group_leader.comm) or "?") end)
up.at_exit(function() print(v:get()) end)
--> shop
