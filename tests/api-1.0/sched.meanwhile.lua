-- sched.meanwhile in 1.0
local sched = require "uplua.sched"
local span = { key = 23, from = { time = 1000 }, to = { time = 2000, cpu = 1, tid = 42, comm = "cc1" }, missing = {},
  events = { { cpu = 1, time = 1300, tid = 41, comm = "sh" }, { cpu = 0, time = 1400, tid = 7, comm = "x" } } }
local ran, unknown = sched.meanwhile(span)
for _, one in ipairs(ran) do print(one.tid, one.comm, one.took) end
print(unknown)
--> 42	cc1	700
--> 41	sh	300
--> 0
