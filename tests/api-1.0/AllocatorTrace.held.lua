-- AllocatorTrace:held in 1.0, on the shop
local up = require "uplua"
local allocators = require "uplua.allocators"
local n = up.count()
local t = allocators.trace({ blocks = 1000, stack = true }, { allocated = function(e, address, bytes) n:inc() end })
up.at_exit(function()
  local list, sum = t:held(up.now(), 0)
  print(n:get() > 0, #list > 0, sum.bytes > 0)
end)
--> true	true	true
