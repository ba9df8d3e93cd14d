-- sums.values in 1.0: kept from the begin to the end, on the shop
local up = require "uplua"
local sums = require "uplua.by".sums { "e.arg1", "one=1" }
local values, put, kept = sums.values, sums.put, up.hash()
up.uprobe("./shop:sell", function(e) kept[e.tid] = { values = values(e) } end)
up.uretprobe("./shop:sell", function(e)
  local one = kept[e.tid]
  if one then put(one.values, 7) end
end)
up.at_exit(function()
  local row = sums:take():fill({}, 7)
  print(row["e.arg1"], row.one)
end)
--> 1048	101
