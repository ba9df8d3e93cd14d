-- stacks.instructions in 1.0, on the shop
local up = require "uplua"
local stacks = require "uplua.stacks"
local n = up.count()
up.uprobe("./shop:checksum", function(e) n[e:ustack(2)]:inc() end)
up.at_exit(function()
  for _, one in ipairs(stacks.instructions(stacks.rows(n))) do print(one.name, one.module, one.self) end
end)
--> checksum+0x0	shop	86
