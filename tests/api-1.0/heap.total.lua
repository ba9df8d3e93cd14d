-- heap.total in 1.0
local up = require "uplua"
local heap = require "uplua.heap"
local none = { bytes = 0, blocks = 0 }
for _, line in ipairs(heap.total({ {} }, { bytes = 3, blocks = 2, gone = 0, young = none, processes = {} })) do
  print(line)
end
up.exit()
-->    total 3 bytes in 2 blocks from 1 stack
