-- up.sym in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.uprobe("./shop:checksum", function(e) n[up.sym(e.caller)]:inc() end)
up.at_exit(function() for s, hits in n:pairs() do print(s, hits) end end)
--> main	86
