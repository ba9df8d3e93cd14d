-- heat.new in 1.0, on the shop
local up = require "uplua"
local h = require "uplua.heat".new { title = "Prices", scale = "linear", low = 0, high = 2000, rows = 4, every = "1h" }
up.uprobe("./shop:sell", function(e) h:add(e.arg1 % 2 * 1000) end)
up.at_exit(function()
  h:take()
  print((h:text(40):gsub("\n.*", "")))
end)
--> Prices: 101 values, a column is 60 min 0 s, the darkest cell 53
