-- heap.lines in 1.0, on the shop
local up = require "uplua"
local allocators, heap = require "uplua.allocators", require "uplua.heap"
local trace = allocators.trace({ blocks = 1000, stack = true }, {})
local lines
up.at_start(function() lines = heap.lines(heap.prove_now(trace, { passes = 1 }), 5) end)
up.at_exit(function() print(lines[#lines]) end)
-->    nothing is held
