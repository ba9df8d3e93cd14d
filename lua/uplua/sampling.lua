-- Probes that no call triggers: samples of what the CPUs do.
local core  = require "uplua.core"
local setup = require "uplua.setup"

local sampling = {}

local MOST = 1000000 -- a second; the kernel's own limit is lower

-- profile(hertz, handler): HANDLER runs HERTZ times a second on each CPU, wherever that is, in a program or in the kernel, unless it is
-- idle; in a process that is not traced it does not. Raises what is wrong with the arguments, and what the kernel does not permit.
function sampling.profile(hertz, given, handler)
  if type(given) == "function" and handler == nil then given, handler = {}, given end
  if type(hertz) ~= "number" or hertz ~= math.floor(hertz) or hertz < 1 or hertz > MOST then
    error(("profile: the first argument is how often a second, a number from 1 to %d, not %s"):format(MOST, tostring(hertz)), 2)
  end
  local name = ("%d"):format(hertz)
  setup.check("profile", name, given, handler)
  setup.declare {
    kind = "profile", spec = name, sites = {}, where = ("each CPU that is not idle, %d times a second"):format(hertz), handler = handler,
    attach = function(_, program, link)
      local ok, result = pcall(core.probe.sample, program.fd, hertz)
      if not ok then error("profile: " .. result, 0) end
      link(result)
    end,
  }
end

return sampling
