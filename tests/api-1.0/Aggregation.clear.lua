-- Aggregation:clear in 1.0, on the shop
local up = require "uplua"
local a = up.sum()
up.uprobe("./shop:sell", function(e) a[e.arg1]:add(e.arg2) end)
up.at_exit(function()
  a:clear()
  print(a:size())
end)
--> 0
