-- up.sorted in 1.0
local up = require "uplua"
for key, value in up.sorted({ a = 1, b = 3, c = 2 }, function(x, y) return x > y end) do print(key, value) end
--> b	3
--> c	2
--> a	1
