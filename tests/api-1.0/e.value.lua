-- e.value in 1.0, on the shop, with watchpoint
local up = require "uplua"
local n = up.count()
up.watch("./shop:last[0]", { "w", size = 8 }, function(e) if e.value ~= 0 then n:inc() end end)
up.at_exit(function() print(n:get()) end)
--> 5
