-- up.at_exit in 1.0
local up = require "uplua"
up.at_exit(function() print "last" end)
print "first"
--> first
--> last
