-- stacks.callers in 1.0, on the shop
local up = require "uplua"
local stacks = require "uplua.stacks"
local n = up.count()
up.uprobe("./shop:checksum", function(e) n[e:ustack(2)]:inc() end)
up.at_exit(function()
  for _, one in ipairs(stacks.callers(stacks.rows(n), "checksum")) do print(one.depth, one.number, one.name) end
end)
--> 0	86	checksum
--> 0	86	main
