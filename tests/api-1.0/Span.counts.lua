-- span:counts in 1.0, on the shop
local up = require "uplua"
local span = require "uplua.span"
local function thread(e) return e.tid end
local sales = span.new { from = { "./shop:sell", key = thread }, to = { "uretprobe:./shop:sell", key = thread } }
up.at_exit(function()
  local counts = sales:counts()
  print(counts.begun, counts.ended, counts.open, counts.unbegun, counts.replaced)
end)
--> 101	101	0	0	0
