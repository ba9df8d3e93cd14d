-- e.caller in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.uprobe("./shop:sell", function(e) n[e.caller]:inc() end)
up.at_exit(function() for caller, hits in n:pairs() do print(caller > 0, hits) end end)
--> true	101
