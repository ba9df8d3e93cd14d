-- span:open in 1.0, on the shop
local up = require "uplua"
local span = require "uplua.span"
local function thread(e) return e.tid end
local calls = span.new {
  from = { "./shop:sell", key = function(e) return e.arg1 end },
  to = { "uretprobe:./shop:sell", key = function(e) return e.arg1 end, where = function(e) return e.arg1 > 0 end },
}
up.at_exit(function()
  local open = calls:open(1)
  print(#calls:open(), open[1].key, open[1].from.comm, open[1].age > 0)
end)
--> 1	0	shop	true
