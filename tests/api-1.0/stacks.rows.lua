-- stacks.rows in 1.0, on the shop
local up = require "uplua"
local stacks = require "uplua.stacks"
local n = up.count()
up.uprobe("./shop:checksum", function(e) n[{ e.comm, e:ustack(1) }]:inc() end)
up.at_exit(function()
  local rows, sum = stacks.rows(n)
  print(#rows, rows[1].label, rows[1].number, sum)
end)
--> 1	shop	86	86
