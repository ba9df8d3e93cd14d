-- e.arg5 in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.uprobe("./shop:sell", function(e) if e.arg5 == e.arg5 then n:inc() end end)
up.at_exit(function() print(n:get()) end)
--> 101
