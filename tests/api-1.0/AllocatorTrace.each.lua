-- AllocatorTrace:each in 1.0, on the shop
local up = require "uplua"
local allocators = require "uplua.allocators"
local n = up.count()
local t = allocators.trace({ blocks = 1000, stack = true }, { allocated = function(e, address, bytes) n:inc() end })
up.at_exit(function()
  local held = 0
  t:each(function(block) held = held + block.bytes end)
  print(n:get() > 0, held > 0)
end)
--> true	true
