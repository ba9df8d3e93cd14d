-- up.kbuf in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.raw_tracepoint("sched_process_exit", function(e)
  local b = up.kbuf(e.arg0, 4, 4)
  if b then n:inc() end
end)
up.at_exit(function() print(n:get()) end)
--> 1
