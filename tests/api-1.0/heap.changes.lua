-- heap.changes in 1.0
local up = require "uplua"
local heap = require "uplua.heap"
print(heap.changes({}, { bytes = -3, blocks = 1 })[1])
up.exit()
-->    in all -3 bytes in +1 block from 0 stacks
