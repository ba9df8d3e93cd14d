-- e.ip in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.uprobe("./shop:sell", function(e) n[e.ip]:inc() end)
up.at_exit(function() for ip, hits in n:pairs() do print(ip > 0, hits) end end)
--> true	101
