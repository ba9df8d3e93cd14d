-- h:svg in 1.0, on the shop
local up = require "uplua"
local h = require "uplua.heat".new { title = "a < b", every = "1h" }
up.uprobe("./shop:sell", function(e) h:add(23) end)
up.at_exit(function() print(h:svg():match ">(a [^<]*)<") end)
--> a &lt; b
