-- s:add in 1.0, on the shop
local up = require "uplua"
local hits = require "uplua.slices".new { slice = "1h" }
up.uprobe("./shop:sell", function(e) hits:add(7) end)
up.at_exit(function()
  local sum, row = 0, nil
  for _, one in ipairs(hits:take(true)) do sum, row = sum + one.n, one.row end
  print(sum, row)
end)
--> 101	7
