-- Reports: what a script says at the end of the run, and in between where somebody wants to see it grow.
local loop = require "uplua.base.loop"
local text = require "uplua.base.text"

local report = {}

-- report(period, fn): calls fn for the report, as up.at_exit does; with a PERIOD ("5s", or ns; false or nil: none)
-- each so often, too, and then each report stands under the time, parted by an empty line; the report at the end also
-- has the length of its period, if that is not a whole one.
function report.report(period, fn)
  if type(fn) ~= "function" then
    error("report: a function is expected behind the period, not " .. text.shown(fn), 2)
  end
  if not period then return loop.at_exit(fn) end
  local ns, wrong = text.wait(period)
  if not ns or ns == 0 then error(wrong or "the period must be longer than zero", 2) end
  local first, since, rest = true, nil, ""
  local function timed()
    text.printf(first and "%s%s\n" or "\n%s%s\n", text.clock(text.now()), rest)
    first = false
    fn()
  end
  loop.at_start(function() since = text.now() end)
  loop.at_stop(function()
    if since then rest = (", the last %s"):format(text.time(text.now() - since)) end
  end)
  loop.at_exit(timed)
  return loop.every(period, function()
    since = text.now()
    timed()
  end)
end

return report
