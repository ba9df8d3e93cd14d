-- syscalls.report in 1.0: a table without rows, and what is refused
local up       = require "uplua"
local syscalls = require "uplua.syscalls"
syscalls.report("write", { where = "e.ret < -5000", errors = true, top = 3 })
print((tostring((select(2, pcall(syscalls.report, "nosuch")))):match "no such system call"))
up.after("1ms", function() up.exit() end)
--> no such system call
--> System call  Calls  Errors  p50  p90  p99  p99.9  Longest  Total
