-- sp:line in 1.0, on the shop
local up = require "uplua"
local span = require "uplua.span"
local function thread(e) return e.tid end
local sales = span.new { from = { "./shop:sell", key = thread }, to = { "uretprobe:./shop:sell", key = thread } }
local n = 0
sales:slow(0, function(s)
  local row, below = sales:line(s)
  if row.elapsed == s.elapsed and row.from:find "^shop %(thread %d+%)$" and #below == 0 then n = n + 1 end
end)
up.at_exit(function() print(n) end)
--> 101
