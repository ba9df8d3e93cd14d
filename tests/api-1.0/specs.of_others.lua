-- specs.of_others in 1.0
local specs = require "uplua.specs"
local of_others = specs.of_others
print(of_others "tracepoint:sched:sched_wakeup", of_others "raw_tracepoint:kfree", of_others "libc:malloc")
--> true	true	false
