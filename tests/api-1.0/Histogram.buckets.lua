-- Histogram:buckets in 1.0, on the shop
local up = require "uplua"
local h = up.lhist(1, 5, 2, { unit = "count" })
up.uprobe("./shop:sell", function(e) h:add(e.arg2) end)
up.at_exit(function()
  for _, bucket in ipairs(h:buckets()) do print(bucket.low, bucket.high, bucket.count) end
end)
--> -inf	0	15
--> 1	2	30
--> 3	4	28
--> 5	inf	28
