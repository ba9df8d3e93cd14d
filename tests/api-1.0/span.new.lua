-- span.new in 1.0, on the shop
local up = require "uplua"
local span = require "uplua.span"
local function thread(e) return e.tid end
local sales = span.new { from = { "./shop:sell", key = thread }, to = { "uretprobe:./shop:sell", key = thread } }
up.at_exit(function() print(sales:counts().begun) end)
--> 101
