-- block.requests in 1.0, on the shop
local up = require "uplua"
local block = require "uplua.block"
local wrong = up.count()
block.requests(function(e, r) if r.took ~= r.waited + r.served or r.bytes < 0 then wrong:inc() end end)
up.at_exit(function() print(wrong:get()) end)
--> 0
