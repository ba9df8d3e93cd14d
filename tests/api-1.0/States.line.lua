-- s:line in 1.0, on the shop
local up = require "uplua"
local states = require "uplua.states"
local s = states.new { names = { "selling", "delivering" }, title = "Shop" }
local told = false
s:slow("selling", 0, function(t)
  if told then return end
  told = true
  local row, below = s:line(t)
  print(row.who, row.state, row.elapsed >= 0, row.ended:find("shop (pid", 1, true), below)
end)
up.uprobe("./shop:sell", function(e)
  s:enter(3, "selling")
  s:enter(3, "delivering")
end)
--> 3	selling	true	1	nil
