-- up.ledger in 1.0, on the shop
local up = require "uplua"
local m, n = up.hash { max = 1 }, up.count()
up.uprobe("./shop:sell", function(e)
  m[e.arg1] = 1
  n:inc()
end)
up.at_exit(function()
  print(n:get(), #up.ledger() > 0, m:size())
end)
--> 101	true	1
