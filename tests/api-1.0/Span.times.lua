-- sp:times in 1.0, on the shop
local up = require "uplua"
local span = require "uplua.span"
local function thread(e) return e.tid end
local sales = span.new { from = { "./shop:sell", key = thread }, to = { "uretprobe:./shop:sell", key = thread } }
local times = sales:times()
up.at_exit(function()
  local row = times()[1]
  print(row.part, row.count, row.p50 <= row.max, #times())
  sales:counts()
end)
--> ./shop:sell → uretprobe:./shop:sell	101	true	0
