-- A histogram by key: which system calls each thread makes.
local test_run = require "uplua.probe.providers.testrun"
local up = require "uplua"

local h = up.hist()

test_run.handler("sys_enter", function(e)
  h[e.tid]:add(e.arg1)
end)
