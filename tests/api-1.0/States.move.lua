-- s:move in 1.0, on the shop
local up = require "uplua"
local states = require "uplua.states"
local s = states.new { names = { "selling", "delivering" }, title = "Shop" }
up.uprobe("./shop:sell", function(e)
  s:move(4, "selling")
  s:enter(3, "selling")
  s:move(3, "delivering")
end)
up.at_exit(function() print(#s:rows(), s:rows()[1].state) end)
--> 1	delivering
