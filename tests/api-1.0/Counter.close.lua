-- Counter:close in 1.0, on the shop
local up = require "uplua"
local c = up.counter "page-faults"
up.at_exit(function()
  c:close()
  print(c:read() > 0)
end)
--> true
