-- sums:take in 1.0: what had no row is in the next report, on the shop
local up = require "uplua"
local sums = require "uplua.by".sums { "n=1" }
local add = sums.add
up.uprobe("./shop:sell", function(e) add(e, e.arg1 % 2) end)
up.at_exit(function()
  print(sums:take():fill({}, 0).n)
  sums:take()
  print(sums:fill({}, 0).n, sums:fill({}, 1).n, sums:take():fill({}, 1).n)
end)
--> 53
--> 0	48	0
