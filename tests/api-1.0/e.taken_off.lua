-- e.taken_off in 1.0, on the shop
local up = require "uplua"
local v = up.var(-1)
up.uretprobe("./shop:sell", function(e) v:set(e.taken_off) end)
up.at_exit(function() print(tonumber(v:get())) end)
--> 0
