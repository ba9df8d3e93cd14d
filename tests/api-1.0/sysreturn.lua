-- up.sysreturn in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.sysreturn({ "write" }, function(e) if e.args.fd == 1 and e.ret > 0 then n:inc() end end)
up.at_exit(function() print(n:get()) end)
--> 1
