-- Aggregation:take in 1.0, on the shop
local up = require "uplua"
local a = up.sum()
up.uprobe("./shop:sell", function(e) a[e.arg1]:add(e.arg2) end)
up.at_exit(function()
  print(a:take():size(), a:take():size())
end)
--> 23	0
