-- heap.difference in 1.0
local up = require "uplua"
local heap = require "uplua.heap"
local list, sum = heap.difference({ { name = "a", bytes = 3, blocks = 1 } }, { { name = "a", bytes = 8, blocks = 2 } })
print(#list, list[1].name, list[1].bytes, list[1].blocks, sum.bytes, sum.blocks)
up.exit()
--> 1	a	5	1	5	1
