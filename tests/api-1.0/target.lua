-- up.target in 1.0, on the shop
local up = require "uplua"
local target = up.target()
print(target.name, #target.pids, #target.tids, target.command[1] == "./shop", target.follow, target.whole_machine)
--> shop	1	0	true	false	false
