-- Spans that have ended (uplua.span) as lines for people.
local text = require "uplua.base.text"

local lines = {}

local function who(side) return ("%s (thread %d)"):format(side.comm or "?", side.tid or 0) end

-- of(s): S, a span that slow() has given, as { time, elapsed, key, from, to } for a stream, and lines for below it: the
-- parts of its way, where there are several; what of its window may be missing; and the events of that.
function lines.of(s)
  local below = {}
  for _, leg in ipairs(#s.legs > 1 and s.legs or {}) do
    below[#below + 1] = ("    %9s  from %s to %s"):format(text.time(leg.elapsed), leg.from, leg.to)
  end
  for _, gap in ipairs(s.missing or {}) do
    below[#below + 1] = ("    %9s  from here something may be missing, for %s, on CPU %d"):format(
      text.time(gap.from - s.from.time), text.time(gap.to - gap.from), gap.cpu)
  end
  for _, event in ipairs(s.events or {}) do
    below[#below + 1] = ("    %9s  %-15s %7d  %s"):format(text.time(event.since), text.escape(event.comm or ""),
      event.tid or 0, event.call)
  end
  return { time = s.to.time, elapsed = s.elapsed, key = s.key, from = who(s.from), to = who(s.to) }, below
end

return lines
