-- Ring:poll in 1.0, on the shop
local up = require "uplua"
local r, n = up.ring(), 0
up.uprobe("./shop:sell", function(e) r:emit { customer = e.arg1 } end)
up.at_exit(function()
  while r:poll(0, function() n = n + 1 end) > 0 do end
  print(n)
end)
--> 101
