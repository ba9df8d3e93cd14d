-- A filter on the process and two fields in front of a count: getpid() of process arg[1], by root.
local test_run = require "uplua.probe.providers.testrun"
local up = require "uplua"

local PID, GETPID = tonumber(arg[1] or 4243), jit.arch == "arm64" and 172 or 39
local n = up.count()

test_run.handler("sys_enter", function(e)
  if e.pid == PID and e.arg1 == GETPID and e.uid == 0 then n:inc() end
end)
