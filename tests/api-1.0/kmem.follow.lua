-- kmem.follow in 1.0, on the shop
local up = require "uplua"
local kmem = require "uplua.kmem"
local blocks = kmem.follow { max = 10000 }
up.at_exit(function() print(blocks:counts().allocated > 0) end)
--> true
