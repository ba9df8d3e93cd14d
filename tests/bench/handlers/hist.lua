-- A histogram by key: which system calls each thread makes.
local testrun = require "uplua.testrun"
local up = require "uplua"

local h = up.hist()

testrun.handler("sys_enter", function(e)
  h[e.tid]:add(e.arg1)
end)
