-- e.addr in 1.0, on the shop, with watchpoint
local up = require "uplua"
local n = up.count()
up.watch("./shop:last[0]", { "w", size = 8 }, function(e) n[e.addr]:inc() end)
up.at_exit(function() print(n:size()) end)
--> 1
