-- Type.fields in 1.0, on the shop
local types = require "uplua.types"
local order = types.argument("./shop:sell", "order"):target()
local second = order:fields()[2]
print(second.name, second.type.name, second.offset)
--> id	long int	8
