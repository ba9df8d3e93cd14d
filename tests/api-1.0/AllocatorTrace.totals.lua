-- AllocatorTrace:totals in 1.0, on the shop
local up = require "uplua"
local allocators = require "uplua.allocators"
local t = allocators.trace({ blocks = 1000, stack = true, peak = true, totals = true }, {})
up.at_exit(function()
  local list = t:totals()
  print(#list > 0, list[1].bytes > 0, list[1].blocks > 0)
end)
--> true	true	true
