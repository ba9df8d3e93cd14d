-- up.uretprobe in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.uretprobe("./shop:sell", { typed = true }, function(e) if e.ret > 0 then n:inc() end end)
up.at_exit(function() print(n:get()) end)
--> 86
