-- Counts the stacks at a function, or only its calls:
--   uplua stack.lua FUNCTION stack|empty -- PID
local up = require "uplua"

local stacks, calls = up.count(), up.count()
if arg[2] == "stack" then
  up.uprobe(arg[1], function(e) stacks[e:ustack()]:inc() end)
else
  up.uprobe(arg[1], function(e) calls:inc() end)
end
up.at_exit(function()
  for s in stacks:pairs() do print(s:depth() .. " frames") end
end)
