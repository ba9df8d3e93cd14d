-- stat.new in 1.0, on the shop
local up   = require "uplua"
local stat = require "uplua.stat"
local counts = stat.new({ "./shop:sell", "./shop:deliver" }, { ratios = { "each=deliver/sell" } })
up.at_start(function() counts:clear() end)
up.at_exit(function()
  local row = counts:take()
  print(row.sell, row.deliver, ("%.2f"):format(row.each))
end)
--> 101	213	2.11
