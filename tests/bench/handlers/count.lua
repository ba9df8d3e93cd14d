-- Counts by key: raw_syscalls:sys_enter by the number of the system call, the event's second word.
local test_run = require "uplua.probe.providers.testrun"
local up = require "uplua"

local n = up.count()

test_run.handler("sys_enter", function(e)
  n[e.arg1]:inc()
end)
