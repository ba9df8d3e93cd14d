-- e.ret in 1.0, on the shop
local up = require "uplua"
local v = up.var(0)
up.uretprobe("./shop:sell", function(e) v:set(up.i32(e.ret)) end)
up.at_exit(function() print(v:get()) end)
--> 200
