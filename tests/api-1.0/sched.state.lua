-- sched.state in 1.0, on the shop
local up = require "uplua"
local sched = require "uplua.sched"
local n, all = up.count(), up.count()
up.raw_tracepoint("sched_switch", function(e)
  n[sched.state(e)]:inc()
  all:inc()
end)
up.at_exit(function()
  local sum, unknown = 0, 0
  for name, times in n:pairs() do
    if not table.concat(sched.STATES, " "):find(name, 1, true) then unknown = unknown + 1 end
    sum = sum + times
  end
  print(sum > 0, sum == all:get(), unknown)
end)
--> true	true	0
