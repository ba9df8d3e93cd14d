-- Buffer:bytes in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.uprobe("./shop:checksum", function(e) n[up.buf(e.arg0, e.arg1, 4)]:inc() end)
up.at_exit(function()
  for b in up.sorted(n) do print(b:bytes(), #b) end
end)
--> a te	4
--> coff	4
--> cups	4
--> tea	3
