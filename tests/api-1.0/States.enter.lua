-- s:enter in 1.0, on the shop
local up = require "uplua"
local states = require "uplua.states"
local s = states.new { names = { "selling", "delivering" }, title = "Shop" }
up.uprobe("./shop:sell", function(e) s:enter(e.arg1 % 2, e.arg1 > 5 and "selling" or "delivering") end)
up.at_exit(function()
  local known = 0
  for _, row in ipairs(s:rows()) do known = known + row.key * 10 + (row.state and 1 or 0) end
  print(known)
end)
--> 12
