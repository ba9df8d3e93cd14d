-- sched.goes_on in 1.0, on the shop
local up = require "uplua"
local sched = require "uplua.sched"
local wrong, all = up.count(), up.count()
up.raw_tracepoint("sched_switch", function(e)
  if sched.goes_on(e) ~= (sched.state(e) == "preempted") then wrong:inc() end
  all:inc()
end)
up.at_exit(function() print(all:get() > 0, wrong:get()) end)
--> true	0
