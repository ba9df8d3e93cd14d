-- b:counts in 1.0, on the shop
local up = require "uplua"
local n = up.count()
local requests = require "uplua.block".requests(function(e, r) n:inc() end)
up.at_exit(function() print(requests:counts().merged >= 0, requests:counts().unseen >= 0) end)
--> true	true
