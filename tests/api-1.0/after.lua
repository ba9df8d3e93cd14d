-- up.after in 1.0
local up = require "uplua"
up.after("1ms", function() print "later" end)
print "first"
--> first
--> later
