-- e.func in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.uprobe("./shop:[sd]el*", function(e) n[e.func]:inc() end)
up.at_exit(function() for func, hits in up.sorted(n) do print(func, hits) end end)
--> deliver	213
--> sell	101
