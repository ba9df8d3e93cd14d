-- s:slow in 1.0, on the shop
local up = require "uplua"
local states = require "uplua.states"
local s = states.new { names = { "selling", "delivering" }, title = "Shop" }
local n = 0
s:slow("selling", 0, function(t) n = n + (t.key == 3 and t.elapsed >= 0 and t.pid == t.tid and 1 or 0) end)
up.uprobe("./shop:sell", function(e)
  s:enter(3, "selling")
  s:enter(3, "delivering")
end)
up.at_exit(function() print(n) end)
--> 101
