-- Type.size in 1.0, on the shop
local types = require "uplua.types"
local order = types.argument("./shop:sell", "order"):target()
print(order.size > 8)
--> true
