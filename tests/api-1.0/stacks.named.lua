-- stacks.named in 1.0, on the shop
local up = require "uplua"
local stacks = require "uplua.stacks"
local n = up.count()
up.uprobe("./shop:checksum", function(e) n[{ e.comm, e:ustack(1) }]:inc() end)
up.at_exit(function()
  local rows, sum = stacks.rows(n)
  for key, number in pairs(stacks.named(rows)) do print(key[1], number) end
end)
--> shop	86
