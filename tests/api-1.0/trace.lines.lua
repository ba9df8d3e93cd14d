-- trace.lines in 1.0, on the shop
local up = require "uplua"
local trace = require "uplua.trace"
local first, below
trace.each("./shop:sell", { depth = 1 }, function(event)
  if not first then
    local call, further = trace.lines(event, 20)
    first, below = call:match "^%a+", #further > 1
  end
end)
up.at_exit(function() print(first, below) end)
--> sell	true
