-- up.percpu_hash in 1.0, on the shop
local up = require "uplua"
local m = up.percpu_hash { max = 64 }
up.uprobe("./shop:sell", function(e) m[e.arg1] = (m[e.arg1] or 0) + 1 end)
up.at_exit(function()
  local sum = 0
  for cpu = 0, #m:get(22) do sum = sum + m:get(22)[cpu] end
  print(m:size(), sum)
end)
--> 23	4
