-- heap.prove_end in 1.0, on the shop
local up = require "uplua"
local allocators, heap = require "uplua.allocators", require "uplua.heap"
local trace = allocators.trace({ blocks = 1000, stack = true }, {})
local ended
heap.prove_end(trace, function(proof) ended = proof.exact end)
up.at_exit(function() print(ended) end)
--> true
