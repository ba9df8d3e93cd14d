-- Counts by key: raw_syscalls:sys_enter by the number of the system call, the event's second word.
local testrun = require "uplua.testrun"
local up = require "uplua"

local n = up.count()

testrun.handler("sys_enter", function(e)
  n[e.arg1]:inc()
end)
