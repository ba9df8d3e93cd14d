-- stat:clear in 1.0, on the shop
local up = require "uplua"
local counts = require "uplua.stat".new { "./shop:sell" }
up.at_exit(function()
  counts:clear()
  print(counts:take().sell)
end)
--> 0
