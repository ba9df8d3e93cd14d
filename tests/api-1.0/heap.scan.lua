-- heap.scan in 1.0
local up = require "uplua"
local heap = require "uplua.heap"
local found, why = heap.scan(2 ^ 22)
print(found, type(why))
up.exit()
--> nil	string
