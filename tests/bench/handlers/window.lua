-- An event of a window, by thread, kept in a recorder: what uplua.trace.hits takes of a call with four arguments.
local recorder = require "uplua.objects.recorder"
local test_run = require "uplua.probe.providers.testrun"

local window = recorder.new()

test_run.handler("sys_enter", function(e)
  window:emit { id = 1, tid = e.tid, nr = e.arg1, a1 = e.arg0, a2 = e.arg0 + 1, a3 = e.arg0 + 2 }
end)
