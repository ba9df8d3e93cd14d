-- HeapGrowth:of in 1.0
local up = require "uplua"
local heap = require "uplua.heap"
local g = heap.growth()
for i = 1, 9 do g:add({ { name = "x", bytes = i, blocks = 1 } }, i * 60e9) end
local of = g:of "x"
print(of.rate, of.rises, of.falls, of.steps, of.direction)
up.exit()
--> 1	8	0	8	1
