-- up.hdr in 1.0, on the shop
local up = require "uplua"
local a = up.hdr(2)
up.uprobe("./shop:sell", function(e) a:add(e.arg2) end)
up.at_exit(function() print(a:percentile(50), a:percentile(100)) end)
--> 3	6
