-- View:print in 1.0
local view = require "uplua.view"
local v = view.new { { "name", "Name" }, { "count", "Count", "count" }, by = "count", top = 1 }
local rows = { { name = "read", count = 23 }, { name = "write", count = 1101 } }
print(#v:print(rows))
--> Name   Count
--> write  1,101
--> 1
