-- span:done in 1.0, on the shop
local up = require "uplua"
local span = require "uplua.span"
local function thread(e) return e.tid end
local sales = span.new { from = { "./shop:sell", key = thread }, to = { "uretprobe:./shop:sell", key = thread } }
local n = up.count()
sales:done(function(s) if s.elapsed > 0 and s.from.tid == s.key then n[s.to.comm]:inc() end end)
up.at_exit(function() print(n["shop"]) end)
--> 101
