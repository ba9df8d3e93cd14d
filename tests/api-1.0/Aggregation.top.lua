-- Aggregation:top in 1.0, on the shop
local up = require "uplua"
local a = up.sum()
up.uprobe("./shop:sell", function(e) a[e.arg1]:add(e.arg2) end)
up.at_exit(function()
  for customer, pieces in a:top(2) do print(customer, pieces) end
end)
--> 4	19
--> 5	17
