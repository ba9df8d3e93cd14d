-- sched.is_held in 1.0, on the shop
local up = require "uplua"
local sched = require "uplua.sched"
local held, all = up.count(), up.count()
up.raw_tracepoint("sched_switch", function(e)
  if sched.is_held(e) and sched.goes_on(e) then held:inc() end
  all:inc()
end)
up.at_exit(function() print(all:get() > 0, held:get()) end)
--> true	0
