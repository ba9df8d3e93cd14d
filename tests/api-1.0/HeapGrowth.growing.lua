-- HeapGrowth:growing in 1.0
local up = require "uplua"
local heap = require "uplua.heap"
local g = heap.growth()
for i = 1, 9 do g:add({ { name = "x", bytes = i, blocks = 1 } }, i * 60e9) end
print(#g:growing { { name = "x" }, { name = "y" } })
up.exit()
--> 1
