-- heap.held in 1.0
local up = require "uplua"
local heap = require "uplua.heap"
for _, line in ipairs(heap.held({ { name = "f\ng", bytes = 3, blocks = 1 } }, { top = 1 })) do print(line .. "|") end
up.exit()
-->    3 bytes in 1 block|
-->          f|
-->          g|
--> |
