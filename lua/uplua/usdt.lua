-- USDT probes: places that a program's authors have marked, with arguments.
local core  = require "uplua.core"
local setup = require "uplua.setup"

local usdt = {}

-- usdt(spec, [options], handler): HANDLER runs in the kernel whenever the program passes the probe SPEC: "BINARY:PROVIDER:NAME"; or
-- "PROVIDER:NAME", in any module of the target's, or "BINARY:NAME". PROVIDER and NAME may be patterns. Raises what is wrong with SPEC.
--
-- Where the arguments are at each place, the note of that place says. Places at which that differs get programs of their own, so that
-- nothing of it is left to be decided when one is hit.
function usdt.usdt(spec, given, handler)
  if type(given) == "function" and handler == nil then given, handler = {}, given end
  if type(spec) ~= "string" then error("usdt: the first argument names the probe: \"libstdc++:libstdcxx:throw\"", 2) end
  setup.check("usdt", spec, given, handler)
  local ok, found = pcall(core.usdt.find, spec)
  if not ok then error("usdt " .. found, 2) end
  for _, probe in ipairs(found) do
    setup.declare {
      kind = "usdt", spec = spec, sites = probe.sites:list(), handler = handler, arguments = probe.arguments,
      attach = function(_, program, link)
        local attached, result = pcall(core.probe.attach, "entry", program.fd, program.cookie, probe.sites)
        if not attached then error("usdt " .. result, 0) end
        link(result)
      end,
    }
  end
end

return usdt
