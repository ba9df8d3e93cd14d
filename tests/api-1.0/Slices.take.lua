-- s:take in 1.0, on the shop
local up = require "uplua"
local hits = require "uplua.slices".new { slice = "1ms" }
up.uprobe("./shop:sell", function(e) hits:add(e.cpu) end)
up.at_exit(function()
  local list, first, last = hits:take(true)
  local sum, outside = 0, 0
  for _, one in ipairs(list) do
    sum = sum + one.n
    if one.slice < first or one.slice > last or one.at ~= one.slice * 1e6 then outside = outside + 1 end
  end
  print(sum, outside, #hits:take(true))
end)
--> 101	0	0
