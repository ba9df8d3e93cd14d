-- heap.growth in 1.0
local up = require "uplua"
local heap = require "uplua.heap"
print(heap.growth(10):of "x")
up.exit()
--> nil
