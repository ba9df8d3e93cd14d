-- A read of the clock, which each record of a window has.
local test_run = require "uplua.probe.providers.testrun"
local up       = require "uplua"

local last = up.var(0)

test_run.handler("sys_enter", function(e) last:set(e.time) end)
