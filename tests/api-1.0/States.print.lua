-- s:print in 1.0, on the shop
local up = require "uplua"
local states = require "uplua.states"
local s = states.new { names = { "selling", "delivering" }, title = "Shop" }
up.uprobe("./shop:sell", function(e)
  if e.arg1 == 1000 then s:enter(3, "selling") end
end)
up.at_exit(function() s:print { by = "selling", top = 3 } end)
--> State    Times  p50  p99  Longest  Total  Share
--> selling      0                       0 s  0.0 %
--> Shop  selling  Times selling  Longest selling
