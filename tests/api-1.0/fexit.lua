-- up.fexit in 1.0, on the shop, with trampoline
local up = require "uplua"
local n = up.count()
up.fexit("ksys_write", { typed = true }, function(e) if e.args.fd == 1 then n:inc() end end)
up.at_exit(function() print(n:get()) end)
--> 1
