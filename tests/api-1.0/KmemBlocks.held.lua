-- b:held in 1.0, on the shop
local up = require "uplua"
local kmem = require "uplua.kmem"
local blocks = kmem.follow { max = 10000, stacks = false }
up.at_exit(function()
  local list, bytes, count = blocks:held(0, "name")
  local sum, of = 0, 0
  for _, group in ipairs(list) do sum, of = sum + group.bytes, of + group.blocks end
  print(sum == bytes, of == count)
end)
--> true	true
