-- up.kcast in 1.0, on the shop
local up = require "uplua"
local v = up.var("")
up.uprobe("./shop:sell", function(e) v:set(up.kcast("struct task_struct *", up.u64(e.task.group_leader)).comm) end)
up.at_exit(function() print(v:get()) end)
--> shop
