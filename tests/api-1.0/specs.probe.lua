-- specs.probe in 1.0, on the shop
local up = require "uplua"
local specs = require "uplua.specs"
local n = up.count()
specs.probe({ "./shop:sell", "./shop:deliver", where = "e.arg1 > 1", of = { {}, { where = "e.arg1 == 3" } } },
  function(e) n[e.func]:inc() end)
up.at_exit(function() print(n:get "sell", n:get "deliver") end)
--> 91	21
