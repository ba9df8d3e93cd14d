-- stacks.print in 1.0, on the shop
local up = require "uplua"
local stacks = require "uplua.stacks"
local n = up.count()
up.uprobe("./shop:checksum", function(e) n[{ e.comm, e:ustack(1) }]:inc() end)
up.at_exit(function()
  local rows, sum = stacks.rows(n)
  stacks.print(rows, 1, function(row) return ("%d of %d"):format(row.number, sum) end)
end)
-->      checksum+0x0
-->      shop
--> 86 of 86
