-- up.version in 1.0
local up = require "uplua"
print(up.version:match "^%d+%.%d")
--> 1.0
