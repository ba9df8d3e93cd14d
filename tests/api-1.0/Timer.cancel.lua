-- Timer:cancel in 1.0
local up = require "uplua"
local t = up.after("1ms", function() print "later" end)
t:cancel()
print "first"
--> first
