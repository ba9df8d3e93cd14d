-- heap.sites in 1.0, on the shop
local up = require "uplua"
local allocators, heap = require "uplua.allocators", require "uplua.heap"
local trace = allocators.trace({ blocks = 1000, stack = true, peak = true }, {})
up.at_exit(function()
  for _, by in ipairs { "function", "module", "line" } do
    for _, row in ipairs(heap.sites((trace:peak()), by, { wrappers = { "libmain*" } })) do
      print(row.name, row.module, row.at ~= nil, row.bytes > 0, row.blocks, row.stacks, row.share)
    end
  end
end)
--> main	shop	false	true	1	1	100
--> shop	nil	false	true	1	1	100
--> main	shop	true	true	1	1	100
