-- b:counts in 1.0, on the shop
local up = require "uplua"
local kmem = require "uplua.kmem"
local blocks = kmem.follow { max = 10000, stacks = false }
up.at_exit(function()
  local counts = blocks:counts()
  print(counts.allocated >= counts.freed, counts.reused >= 0, counts.passed_over >= 0)
end)
--> true	true	true
