-- Stream.print in 1.0
local view = require "uplua.view"
local calls = view.stream { { "name", "Name" }, { "took", "Took", "ns", 8 } }
calls:print { name = "read", took = 1500 }
calls:print { name = "write", stack = "below" }
--> read   1.5 us
--> write
--> below
