-- b:losses in 1.0, on the shop
local up = require "uplua"
local kmem = require "uplua.kmem"
local blocks = kmem.follow { max = 10000, stacks = false }
up.at_exit(function()
  local counts = blocks:counts()
  print((blocks:losses() == "") == (counts.reused + counts.passed_over == 0))
end)
--> true
