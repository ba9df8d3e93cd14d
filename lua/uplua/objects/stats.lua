-- min, max and stats: the extremes of what handlers add, and all that can be said of it without a histogram.
--   local s = up.stats()          handlers: s:add(v), s[key]:add(v)
--   s.count  s.sum  s.avg  s.min  s.max            unkeyed; of s:get()
--   s[key].avg …  s:pairs()  s:top(10, "max")      keyed; ordered by count unless said otherwise
--   local m = up.max()            m:get()  m[key]  m:pairs()  m:top(10); nil where nothing was added
--   s:take()  s:clear()  print(s)
local aggregate = require "uplua.objects.aggregate"
local distribution = require "uplua.objects.distribution"
local text = require "uplua.base.text"

local stats = {}

local metatable = {
  __tostring = function(s)
    if s.count == 0 then return "(empty)" end
    local function show(value) return value and text.quantity(value, s.unit) or "?" end
    return ("count %s, sum %s, avg %s, min %s, max %s")
      :format(text.thousands(s.count), show(s.sum), text.mean(s.avg, s.unit), show(s.min), show(s.max))
  end,
}

local function nothing() end

local function stats_of(s, total)
  local summary = distribution.sum_up(s, total, nothing)
  summary.unit = s.unit
  return setmetatable(summary, metatable)
end

local PROPERTIES = { count = true, sum = true, avg = true, min = true, max = true }
stats.stats = aggregate.constructor("stats", distribution.operations(stats_of, "count"), PROPERTIES)

-- One of these is all that min and max show.
local function extreme(kind)
  return aggregate.constructor(kind, distribution.operations(function(s, total)
    return distribution.sum_up(s, total, nothing)[kind]
  end))
end
stats.min, stats.max = extreme "min", extreme "max"

return stats
