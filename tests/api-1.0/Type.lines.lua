-- Type.lines in 1.0, on the shop
local types = require "uplua.types"
local order = types.argument("./shop:sell", "order"):target()
local bytes = ("\0"):rep(8) .. "\5" .. ("\0"):rep(order.size - 9)
print(order:lines(bytes, 20)[3])
-->   id = 5
