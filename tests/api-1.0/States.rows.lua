-- s:rows in 1.0, on the shop
local up = require "uplua"
local states = require "uplua.states"
local s = states.new { names = { "selling", "delivering" }, title = "Shop" }
up.uprobe("./shop:sell", function(e)
  s:enter(3, "selling")
  s:enter(3, "delivering")
end)
up.at_exit(function()
  local row = s:rows()[1]
  print(row.key, row.state, row["selling times"], row["delivering times"], row.selling > 0, row.age > 0)
  print(row.total == row.selling + row.delivering, row["selling longest"] > 0)
end)
--> 3	delivering	101	100	true	true
--> true	true
