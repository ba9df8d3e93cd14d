-- stat:take in 1.0: what is new, and whether there was anything, on the shop
local up = require "uplua"
local counts = require "uplua.stat".new { "./shop:sell" }
up.at_exit(function()
  local row, shares, any = counts:take()
  print(row.sell, shares.sell, any)
  row, shares, any = counts:take()
  print(row.sell, shares.sell, any)
end)
--> 101	1	true
--> 0	1	false
