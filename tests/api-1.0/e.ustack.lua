-- e:ustack in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.uprobe("./shop:checksum", function(e) n[e:ustack(2)]:inc() end)
up.at_exit(function() for stack, hits in n:pairs() do print(stack:folded(), hits) end end)
--> main;checksum	86
