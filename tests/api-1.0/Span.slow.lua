-- span:slow in 1.0, on the shop
local up = require "uplua"
local span = require "uplua.span"
local function thread(e) return e.tid end
local sales = span.new {
  from = { "./shop:sell", key = thread, keep = function(e) return { customer = e.arg1 } end },
  to = { "uretprobe:./shop:sell", key = thread },
}
local n = 0
sales:slow(0, function(s) if s.from.customer == 22 and s.elapsed == s.to.time - s.from.time then n = n + 1 end end)
up.at_exit(function() print(n) end)
--> 4
