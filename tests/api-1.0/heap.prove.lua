-- heap.prove in 1.0, on the shop
local up = require "uplua"
local allocators, heap = require "uplua.allocators", require "uplua.heap"
local trace = allocators.trace({ blocks = 1000, stack = true }, {})
local begun
up.at_start(function() begun = heap.prove(trace, { passes = 1 }, function(proof) end) end)
up.at_exit(function() print(begun) end)
--> true
