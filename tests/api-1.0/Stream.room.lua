-- Stream.room in 1.0
local view = require "uplua.view"
local calls = view.stream { { "time", "Time", "clock" }, { "name", "Name" } }
print(calls:room())
--> 103	120
