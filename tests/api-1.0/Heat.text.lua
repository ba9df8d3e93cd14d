-- h:text in 1.0, on the shop
local up = require "uplua"
local h = require "uplua.heat".new { unit = "count", every = "1h" }
up.uprobe("./shop:sell", function(e) h:add(1024) end)
up.at_exit(function()
  h:take()
  print(h:text(40):match "\n([^\n]*)\n")
end)
--> 1,024 |@
