-- up.usdt in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.usdt("./shop:shop:sold", function(e) n:inc() end)
up.at_exit(function() print(n:get()) end)
--> 86
