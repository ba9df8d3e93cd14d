-- states.new in 1.0, on the shop
local up = require "uplua"
local states = require "uplua.states"
local s = states.new { names = { "selling", "delivering" }, title = "Shop" }
up.uprobe("./shop:sell", function(e) s:enter("a", "selling") end)
up.at_exit(function() print(#s:rows(), s.names[1], s.title) end)
--> 1	selling	Shop
