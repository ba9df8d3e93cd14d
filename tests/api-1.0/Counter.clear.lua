-- Counter:clear in 1.0, on the shop
local up = require "uplua"
local c = up.counter "page-faults"
up.at_exit(function()
  c:clear()
  print((c:read()))
end)
--> 0
