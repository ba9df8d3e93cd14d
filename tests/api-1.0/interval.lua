-- up.interval in 1.0
local up = require "uplua"
local n = up.count()
up.interval("10ms", function(e) n:inc() end)
up.after("200ms", function() up.exit() end)
up.at_exit(function() print(n:get() > 2) end)
--> true
