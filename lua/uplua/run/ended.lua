-- A target that a signal has ended: by which, and what of the attached probes can have caused it.
local core    = require "uplua.core"
local failure = require "uplua.base.failure"

local ended = {}

-- What is said of a target that SIGNAL, a number, has ended while probes of the kinds PROVIDERS, as keys, were
-- attached; nil where none of them can have caused that.
function ended.text(signal, providers)
  local lines = {}
  for provider in pairs(providers) do
    local why = provider.ends and provider.ends(signal)
    if why then lines[#lines + 1] = ("  %s: %s"):format(provider.name, why) end
  end
  if #lines == 0 then return end
  table.sort(lines)
  return ("the target was ended by %s, which what was attached can cause:\n%s")
    :format(require "uplua.probe.kernel_names".signal_name(signal), table.concat(lines, "\n"))
end

-- Tells it, if the target has ended so.
function ended.tell(providers)
  local signal = core.target.ended_by()
  local text = signal and ended.text(signal, providers)
  if text then failure.report(text) end
end

return ended
