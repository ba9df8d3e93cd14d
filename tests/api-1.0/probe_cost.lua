-- up.probe_cost in 1.0, on the shop
local up = require "uplua"
local most = up.max()
up.uretprobe("./shop:sell", function(e) most:add(e.elapsed) end)
up.at_exit(function()
  local text, list = up.probe_cost()
  print(text:match "^net of the probe's own", #list > 0, most:get() >= 0)
end)
--> net of the probe's own	true	true
