-- by.value in 1.0, on the shop
local up = require "uplua"
local by = require "uplua.by"
local value = by.value "double:bytes=e.arg1 * 2"
local h, of = up.hist { unit = value.unit }, value.of
up.uprobe("./shop:sell", function(e) h:add(of(e)) end)
up.at_exit(function() print(value.name, value.unit, h.count, h.sum) end)
--> double	bytes	101	2096
