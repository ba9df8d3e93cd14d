-- Snapshot:top in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.uprobe("./shop:sell", function(e) n[e.arg2]:inc() end)
up.at_exit(function()
  local t = n:take()
  for _, hits in t:top(1) do print(hits) end
end)
--> 15
