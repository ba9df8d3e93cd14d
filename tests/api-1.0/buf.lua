-- up.buf in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.uprobe("./shop:checksum", function(e) n[up.buf(e.arg0, e.arg1, 16)]:inc() end)
up.at_exit(function() for b, hits in n:top(1) do print(b, hits) end end)
--> coffee	22
