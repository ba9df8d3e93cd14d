-- sched.WINDOW in 1.0
local sched = require "uplua.sched"
print(sched.WINDOW.by, sched.WINDOW[1][1])
--> cpu	raw_tracepoint:sched_switch
