-- Summary.sum in 1.0, on the shop
local up = require "uplua"
local h = up.hist()
up.uprobe("./shop:sell", function(e) h:add(e.arg2) end)
up.at_exit(function() print(h.sum) end)
--> 297
