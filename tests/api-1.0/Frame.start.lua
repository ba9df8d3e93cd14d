-- Frame.start in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.uprobe("./shop:checksum", function(e) n[e:ustack(2)]:inc() end)
up.at_exit(function()
  for s in n:pairs() do
    local frame = s:frames()[1]
    print(frame.symbol, frame.start) -- what has a name needs none
  end
end)
--> checksum	nil
