-- up.every in 1.0
local up = require "uplua"
local n = 0
local t = up.every("1ms", function() n = n + 1 if n == 3 then up.exit() end end)
up.at_exit(function() print(n) end)
--> 3
