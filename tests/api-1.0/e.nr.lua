-- e.nr in 1.0, on the shop
local up = require "uplua"
local v = up.var(-1)
up.syscall("write", function(e) v:set(e.nr) end)
up.at_exit(function() print(up.syscall_name(v:get())) end)
--> write
