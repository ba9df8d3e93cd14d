-- stacks.told in 1.0, on the shop
local up = require "uplua"
local stacks = require "uplua.stacks"
local n = up.count()
up.uprobe("./shop:checksum", function(e) n[{ e.comm, e:ustack(1) }]:inc() end)
up.at_exit(function()
  local rows, sum = stacks.rows(n)
  print(stacks.told(rows, 1, "most frequent"))
end)
--> 1 stack
