-- by.new in 1.0, on the shop
local up = require "uplua"
local by = require "uplua.by"
local who, n = by.new "e.arg1 % 2", up.count()
local key = who.key
up.uprobe("./shop:sell", function(e) n[key(e)]:inc() end)
up.at_exit(function() print(by.new(nil), n:get(0), n:get(1)) end)
--> nil	53	48
