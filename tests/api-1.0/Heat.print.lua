-- h:print in 1.0, on the shop
local up = require "uplua"
local h = require "uplua.heat".new { unit = "count", every = "1h" }
up.uprobe("./shop:sell", function(e) if e.arg1 < 0 then h:add(1) end end)
up.at_exit(function() h:print() end)
--> (empty)
