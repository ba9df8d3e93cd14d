-- up.syscall in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.syscall("write", function(e) if e.args.fd == 1 then n:inc() end end)
up.at_exit(function() print(n:get()) end)
--> 1
