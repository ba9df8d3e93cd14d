-- Counter:take in 1.0, on the shop
local up = require "uplua"
local c = up.counter "page-faults"
up.at_exit(function() print(c:take() > 0, (c:take())) end)
--> true	0
