-- heap.holders in 1.0, on the shop
local up = require "uplua"
local allocators, heap = require "uplua.allocators", require "uplua.heap"
local trace = allocators.trace({ blocks = 1000, stack = true }, {})
local held = 0
up.at_start(function()
  for _, row in ipairs(heap.prove_now(trace, { passes = 1 }).stacks) do held = held + #heap.holders(row) end
end)
up.at_exit(function() print(held) end)
--> 0
