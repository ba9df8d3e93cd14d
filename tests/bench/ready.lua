-- Runs another script and says "ready" once its probes are attached, and how long its report took:
--   uplua ready.lua SCRIPT [argument ...] -- TARGET
local up = require "uplua"
local core = require "uplua.core"

local script = table.remove(arg, 1)
local begun

arg[0] = script
up.at_exit(function() begun = core.loop.now() end)
dofile(script)
up.at_exit(function() io.stderr:write(("report %.6f\n"):format(core.loop.now() - begun)) end)
up.after(0, function()
  print "ready"
  io.stdout:flush()
end)
