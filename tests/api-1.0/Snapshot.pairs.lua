-- Snapshot:pairs in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.uprobe("./shop:sell", function(e) n[e.arg2]:inc() end)
up.at_exit(function()
  local t = n:take()
  local sum = 0
  for _, hits in t:pairs() do sum = sum + hits end
  print(sum)
end)
--> 101
