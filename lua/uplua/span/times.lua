-- How long spans take (uplua.span), and each part of their way, summed up in the kernel.
local aggregate = require "uplua.objects.aggregate"
local capture   = require "uplua.compile.capture"
local counts    = require "uplua.span.counts"

local times = {}

local WHOLE = 0 -- the number of the whole; I is that of what ends at the I-th of via, or behind the last one at `to`

-- What the part I of spans of SPEC is called.
local function name_of(spec, i, last)
  local function place(at)
    return counts.shown(at == WHOLE and spec.from or at == last and spec.to or spec.via[at])
  end
  if i == WHOLE then return ("%s → %s"):format(place(WHOLE), place(last)) end
  return ("%s → %s"):format(place(i - 1), place(i))
end

-- measure(self): has the handlers of SELF, a span, add up times. Returns a function that returns what has ended since
-- it was called last, as rows { part, count, p50, p90, p99, max, sum, histogram }: the whole first. What has not passed
-- a place, or in another order, has no part that ends or begins there.
function times.measure(self)
  local spec = self.spec
  local took, last = aggregate.keep_quiet(require "uplua".hdr(2, { unit = "ns" })), #spec.via + 1
  local passed = capture.inlined(function(s) return s.from.time end) -- when the place before was; 0: it was not passed
  for i = 1, #spec.via do
    local before = passed
    passed = capture.inlined(function(s)
      local at, side = before(s), s.via[i]
      if not side or side.time < at or side.time < s.from.time then return 0 end
      if at ~= 0 then took[i]:add(side.time - at) end
      return side.time
    end)
  end
  self:done(capture.inlined(function(s)
    took[WHOLE]:add(s.elapsed)
    if last > 1 then
      local at = passed(s)
      if at ~= 0 then took[last]:add(s.to.time - at) end
    end
  end))
  return function()
    local rows, of = {}, {}
    for i, h in took:take():pairs() do of[tonumber(i)] = h end
    for i = WHOLE, last do
      local h = of[i]
      if h then
        rows[#rows + 1] = { part = name_of(spec, i, last), count = h.count, p50 = h:percentile(50),
                            p90 = h:percentile(90), p99 = h:percentile(99), max = h.max, sum = h.sum, histogram = h }
      end
    end
    return rows
  end
end

return times
