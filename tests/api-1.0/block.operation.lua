-- block.operation in 1.0
local block = require "uplua.block"
print(block.operation(0), block.operation(1), block.operation(77))
--> read	write	operation 77
