-- heap.profile in 1.0
local up = require "uplua"
local heap = require "uplua.heap"
local held, how = heap.profile({ { stack = "main;f", name = "x", bytes = 3, blocks = 1 } })
print(held["main;f"], how.unit)
up.exit()
--> 3	bytes
