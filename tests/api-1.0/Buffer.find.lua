-- Buffer:find in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.uprobe("./shop:checksum", function(e) n[up.buf(e.arg0, e.arg1, 4)]:inc() end)
up.at_exit(function()
  for b in up.sorted(n) do print((b:find("e", 1, true))) end
end)
--> 4
--> nil
--> nil
--> 2
