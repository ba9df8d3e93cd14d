-- AllocatorTrace:peak in 1.0, on the shop
local up = require "uplua"
local allocators = require "uplua.allocators"
local t = allocators.trace({ blocks = 1000, stack = true, peak = true, totals = true }, {})
up.at_exit(function()
  local list, sum = t:peak()
  print(#list > 0, sum.bytes > 0, sum.at > 0)
end)
--> true	true	true
