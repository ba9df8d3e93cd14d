-- stacks.functions in 1.0, on the shop
local up = require "uplua"
local stacks = require "uplua.stacks"
local n = up.count()
up.uprobe("./shop:checksum", function(e) n[e:ustack(2)]:inc() end)
up.at_exit(function()
  for _, one in ipairs(stacks.functions(stacks.rows(n))) do print(one.name, one.module, one.self, one.total) end
end)
--> checksum	shop	86	86
--> main	shop	0	86
