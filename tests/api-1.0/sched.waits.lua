-- sched.waits in 1.0, on the shop
local up = require "uplua"
local sched = require "uplua.sched"
local wrong = up.count()
sched.waits {
  whose = function(e) return e.pid end,
  done = function(e, pid, took)
    if pid == 0 or took <= 0 then wrong:inc() end
  end,
}
up.at_exit(function() print(wrong:get()) end)
--> 0
