-- up.str in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.usdt("./shop:shop:sold", function(e) n[up.str(e.arg1, 16)]:inc() end)
up.at_exit(function() for article, sold in up.sorted(n) do print(article, sold) end end)
--> a teapot	21
--> coffee	22
--> cups	21
--> tea	22
