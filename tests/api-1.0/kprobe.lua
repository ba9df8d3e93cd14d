-- up.kprobe in 1.0, on the shop, with kprobe
local up = require "uplua"
local n = up.count()
up.kprobe("ksys_write", function(e) if e.arg0 == 1 then n:inc() end end)
up.at_exit(function() print(n:get()) end)
--> 1
