-- heap.prove_now in 1.0, on the shop
local up = require "uplua"
local allocators, heap = require "uplua.allocators", require "uplua.heap"
local trace = allocators.trace({ blocks = 1000, stack = true }, {})
local proof
up.at_start(function() proof = heap.prove_now(trace, { passes = 2, pause = "1ms" }) end)
up.at_exit(function() print(#proof.processes, #proof.stacks, proof.sum.proven.blocks, proof.ended > proof.began) end)
--> 1	0	0	true
