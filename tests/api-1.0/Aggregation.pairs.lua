-- Aggregation:pairs in 1.0, on the shop
local up = require "uplua"
local a = up.sum()
up.uprobe("./shop:sell", function(e) a[e.arg1]:add(e.arg2) end)
up.at_exit(function()
  local sum = 0
  for _, pieces in a:pairs() do sum = sum + pieces end
  print(sum)
end)
--> 297
