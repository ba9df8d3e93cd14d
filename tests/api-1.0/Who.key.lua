-- who.key in 1.0, on the shop
local up = require "uplua"
local by = require "uplua.by"
local n, key = up.count(), by.new "process".key
up.uprobe("./shop:sell", function(e) n[{ key(e), e.func }]:inc() end)
up.at_exit(function()
  for k, count in n:pairs() do print(k[1][1], k[1][2] > 0, k[2], count) end
end)
--> shop	true	sell	101
