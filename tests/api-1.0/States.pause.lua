-- s:pause, of a key that is in no state for a while, on the shop
local up = require "uplua"
local states = require "uplua.states"
local s = states.new { names = { "selling", "delivering" }, title = "Shop" }
up.uprobe("./shop:sell", function(e)
  s:enter(3, "selling")
  s:pause(3)
  s:move(3, "delivering")
  s:pause(4)
end)
up.at_exit(function() print(#s:rows(), s:rows()[1].state, s:rows()[1]["selling times"], s:rows()[1].delivering) end)
--> 1	nil	101	0
