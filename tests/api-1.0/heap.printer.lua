-- heap.printer in 1.0, on the shop
local up = require "uplua"
local allocators, heap = require "uplua.allocators", require "uplua.heap"
local trace = allocators.trace({ blocks = 1000, stack = true, peak = true }, {})
local print_table = heap.printer { by = "function", top = 1, wrappers = { "libmain*" } }
local print_tree = heap.printer { tree = true }
up.at_exit(function()
  print_table((trace:peak()), "held", function(bytes) return 2 * bytes end)
  print_tree({}, "none")
  print(pcall(print_tree, trace:peak()))
end)
-->    held:
--> Bytes  Blocks    Share  A second  Stacks  Function  File
--> 4,096       1  100.0 %    8.0 KB       1  main      shop
-->    none:
--> false	heap.printer: a heading is a text, not a table
