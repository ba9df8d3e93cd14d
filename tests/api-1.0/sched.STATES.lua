-- sched.STATES in 1.0
local sched = require "uplua.sched"
local found = {}
for _, name in ipairs(sched.STATES) do found[name] = true end
print(found.running, found.preempted, found.queued, found.sleeping, found["disk sleep"], found.iowait, found.stopped)
--> true	true	true	true	true	true	true
