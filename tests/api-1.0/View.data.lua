-- View.data in 1.0
local view = require "uplua.view"
local v = view.new { { "name", "Name" } }
if not v:data { { name = "read" } } then print "text" end
--> text
