-- sched.ends in 1.0, on the shop
local up = require "uplua"
local sched = require "uplua.sched"
local n = up.count()
up.raw_tracepoint("sched_switch", function(e) if sched.ends(e) then n:inc() end end)
up.at_exit(function() print(n:get() <= 1) end)
--> true
