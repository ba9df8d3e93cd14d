-- examples/mallocleak_minimal.lua on two functions of one's choice:
--   uplua pair.lua ALLOCATE RELEASE -- PID
local up = require "uplua"

local live = up.hash { max = 1000000 }

up.uretprobe(arg[1], function(e)
  if e.ret ~= 0 then
    live[e.ret] = { bytes = e.arg0, stack = e:ustack(), at = e.time }
  end
end)

up.uprobe(arg[2], function(e)
  live[e.arg0] = nil
end)
