-- heap.parts in 1.0, on the shop
local up = require "uplua"
local allocators, heap = require "uplua.allocators", require "uplua.heap"
local trace = allocators.trace({ blocks = 1000, stack = true }, {})
local proof
up.at_start(function() proof = heap.prove_now(trace, { passes = 1 }) end)
up.at_exit(function() print(#heap.parts(proof)) end)
--> 0
