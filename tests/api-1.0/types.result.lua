-- types.result in 1.0, on the shop
local types = require "uplua.types"
print(types.result("./shop:sell").kind)
--> integer
