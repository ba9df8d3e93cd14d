-- Snapshot:get in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.uprobe("./shop:sell", function(e) n[e.arg2]:inc() end)
up.at_exit(function()
  local t = n:take()
  print(t:get(0), t:get(7))
end)
--> 15	0
