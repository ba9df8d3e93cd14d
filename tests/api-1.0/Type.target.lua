-- Type.target in 1.0, on the shop
local types = require "uplua.types"
local order = types.argument("./shop:sell", "order"):target()
print(order.name, order:target())
--> struct order	nil
