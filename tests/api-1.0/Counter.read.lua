-- Counter:read in 1.0, on the shop
local up = require "uplua"
local c = up.counter "page-faults"
up.at_exit(function()
  local count, share = c:read()
  print(count > 0, share)
end)
--> true	1
