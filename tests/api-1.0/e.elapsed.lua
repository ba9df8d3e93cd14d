-- e.elapsed in 1.0, on the shop
local up = require "uplua"
local v = up.var(-1)
up.uretprobe("./shop:sell", function(e) v:set(e.elapsed) end)
up.at_exit(function() print(v:get() >= 0) end)
--> true
