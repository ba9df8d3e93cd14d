-- pprof.data in 1.0
local data = require "uplua.pprof".data({ ["main;serve"] = 23 }, { type = "orders", unit = "count" })
print(data:find("orders", 1, true) ~= nil, data:find("serve", 1, true) ~= nil)
--> true	true
