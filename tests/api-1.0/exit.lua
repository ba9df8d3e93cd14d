-- up.exit in 1.0
local up = require "uplua"
up.every("1ms", function() up.exit(0) end)
up.at_exit(function() print "over" end)
--> over
