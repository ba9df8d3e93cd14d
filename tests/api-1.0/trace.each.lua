-- trace.each in 1.0, on the shop
local up = require "uplua"
local trace = require "uplua.trace"
local n, calls = 0, {}
trace.each({ "./shop:sell" }, { where = "e.arg1 == 22" }, function(event)
  n = n + 1
  calls[n] = event.name
end)
up.at_exit(function() print(n, calls[1]) end)
--> 4	sell
