-- Keeps the last stack at a function, or only the last thread there:
--   uplua stack.lua FUNCTION stack|empty -- PID
local up = require "uplua"

local last = up.array { max = 1 }
if arg[2] == "stack" then
  up.uprobe(arg[1], function(e) last[0] = e:ustack() end)
  up.at_exit(function() print(last:get(0):depth() .. " frames") end)
else
  up.uprobe(arg[1], function(e) last[0] = e.tid end)
end
