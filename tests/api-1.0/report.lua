-- up.report in 1.0
local up = require "uplua"
up.report(false, function() print "report" end)
--> report
