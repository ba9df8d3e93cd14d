-- stacks.waits in 1.0
local stacks = require "uplua.stacks"
print(stacks.waits { symbol = "main", address = 0x1234 })
--> true
