-- view.stream in 1.0
local view = require "uplua.view"
local calls = view.stream { { "name", "Name", "text", 6 }, { "count", "Count", "count", 7 } }
calls:print { name = "read", count = 1101 }
--> read     1,101
