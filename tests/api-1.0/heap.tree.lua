-- heap.tree in 1.0, on the shop
local up = require "uplua"
local allocators, heap = require "uplua.allocators", require "uplua.heap"
local trace = allocators.trace({ blocks = 1000, stack = true, peak = true }, {})
up.at_exit(function()
  local lines, rest = heap.tree(trace:peak(), { top = 1, wrappers = { "libmain*" } })
  local one = lines[1]
  print(one.depth, one.branch, one.name, one.bytes > 0, one.blocks, one.share)
  print(rest.ways, rest.bytes, rest.blocks)
end)
--> 0	false	main	true	1	100
--> 0	0	0
