-- stat:rows in 1.0, on the shop
local up = require "uplua"
local counts = require "uplua.stat".new({ "./shop:sell", "./shop:deliver" }, { by = "e.comm" })
up.at_exit(function()
  for _, row in ipairs(counts:rows()) do print(row.by, row.sell, row.deliver) end
end)
--> shop	101	213
