-- stacks.behind in 1.0, on the shop
local up = require "uplua"
local stacks = require "uplua.stacks"
local n = up.count()
up.uprobe("./shop:sell", function(e) n[{ e.func, e:stack() }]:inc() end)
up.at_exit(function()
  local text = stacks.behind(n, "sell", "call")
  print(text:match "^[^\n]*", text:match "sell%+0x0" ~= nil, stacks.behind(n, "nope") == "")
end)
--> 101 calls	true	true
