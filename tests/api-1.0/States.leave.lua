-- s:leave in 1.0, on the shop
local up = require "uplua"
local states = require "uplua.states"
local s = states.new { names = { "selling", "delivering" }, title = "Shop" }
up.uprobe("./shop:sell", function(e)
  s:enter(e.pid, "selling")
  s:leave(e.pid)
end)
up.at_exit(function() print(#s:rows(), s:rows()[1].state, s:rows()[1]["selling times"]) end)
--> 101	nil	1
