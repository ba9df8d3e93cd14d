-- up.metric in 1.0
local up = require "uplua"
local n = up.count()
up.metric("calls", n, { labels = { "path" }, help = "calls of something" })
up.metric("load", function() return 1 end)
print(pcall(up.metric, "calls", n))
--> false	metric calls: calls_total is there already
