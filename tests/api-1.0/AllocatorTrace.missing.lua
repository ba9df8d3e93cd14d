-- AllocatorTrace:missing in 1.0, on the shop
local up = require "uplua"
local allocators = require "uplua.allocators"
local n = up.count()
local t = allocators.trace({ blocks = 1000, stack = true }, { allocated = function(e, address, bytes) n:inc() end })
up.at_exit(function()
  print(n:get() > 0, #t:missing "--blocks")
end)
--> true	0
