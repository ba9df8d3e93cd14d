-- A record of ten fields per call.
local up = require "uplua"

local calls = up.ring { size = "1M" }

up.uprobe(arg[1] or "./build/targets/calls:add3", function(e)
  calls:emit { at = e.time, pid = e.pid, tid = e.tid, cpu = e.cpu, comm = e.comm, a = e.arg0, b = e.arg1, c = e.arg2,
    d = up.i32(e.arg3) }
end)
