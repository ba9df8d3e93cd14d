-- up.clock in 1.0
local up = require "uplua"
print(up.clock(up.now()):match "^%d%d:%d%d:%d%d%.%d%d%d%d%d%d$" ~= nil)
--> true
