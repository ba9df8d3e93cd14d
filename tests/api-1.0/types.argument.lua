-- types.argument in 1.0, on the shop
local types = require "uplua.types"
local order = types.argument("./shop:sell", "order"):target()
print(order.name, types.argument("./shop:sell", "pieces").kind)
--> struct order	integer
