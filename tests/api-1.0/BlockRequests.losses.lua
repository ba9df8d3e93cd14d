-- b:losses in 1.0, on the shop
local up = require "uplua"
local n = up.count()
local requests = require "uplua.block".requests(function(e, r) n:inc() end)
up.at_exit(function()
  local counts = requests:counts()
  print((requests:losses() == "") == (counts.merged + counts.unseen == 0))
end)
--> true
