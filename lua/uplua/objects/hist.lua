-- Histograms that handlers add to: of powers of two, of equal steps, and of a given precision.
--   local h = up.hist()           handlers: h:add(v), h[key]:add(v)
--   local h = up.lhist(0, 100, 10)          buckets of 10 values, one for what is below 0 and one for 100 and above
--   local h = up.hdr(2)                     values to 2 significant digits, as HdrHistogram keeps them
--   h.count  h.sum  h.avg  h.min  h.max  h:percentile(99)     unkeyed; of h:get()
--   h[key].count …  h:pairs()  h:top(10, "sum")               keyed; ordered by count unless said otherwise
--   h:take()  h:clear()  print(h)
-- Each takes options after these: { max = 65536 } keys. A large lhist or hdr keeps only those stretches of 128 buckets
-- that are used; each counts as a key.
local aggregate = require "uplua.objects.aggregate"
local buckets = require "uplua.objects.buckets"
local distribution = require "uplua.objects.distribution"
local histogram = require "uplua.objects.histogram"

local hist = {}

local MOST_BUCKETS, MOST_DIGITS = 1000000, 4
local PROPERTIES = { count = true, sum = true, avg = true, min = true, max = true, percentile = true }

local log2 = buckets.log2()

local function new_value(s, total) return histogram.new(s, s.buckets or log2, total) end
local operations = distribution.operations(new_value, "count")

hist.hist = aggregate.constructor("hist", operations, PROPERTIES)

local function integer(value, name)
  if type(value) ~= "number" or value ~= math.floor(value) or math.abs(value) > 2 ^ 53 then
    error(("lhist: %s is a whole number, not %s"):format(name, tostring(value)), 4)
  end
  return value
end

hist.lhist = aggregate.constructor("lhist", operations, PROPERTIES, function(low, high, step, options)
  integer(low, "the lower end")
  integer(high, "the upper end")
  integer(step, "the step")
  if step < 1 then error("lhist: the step is at least 1", 3) end
  if high <= low then error("lhist: the upper end is above the lower", 3) end
  local count = (high - low) / step
  if count ~= math.floor(count) then error(("lhist: %d to %d are not whole steps of %d"):format(low, high, step), 3) end
  if count > MOST_BUCKETS then
    error(("lhist: %s buckets; there can be %s"):format(require("uplua.text").thousands(count),
      require("uplua.text").thousands(MOST_BUCKETS)), 3)
  end
  return options, buckets.linear(low, step, count)
end)

hist.hdr = aggregate.constructor("hdr", operations, PROPERTIES, function(digits, options)
  if type(digits) == "table" then digits, options = nil, digits end
  digits = digits or 2
  if type(digits) ~= "number" or digits ~= math.floor(digits) or digits < 1 or digits > MOST_DIGITS then
    error(("hdr: the significant digits are a whole number from 1 to %d, not %s")
      :format(MOST_DIGITS, tostring(digits)), 3)
  end
  return options, buckets.hdr(digits)
end)

return hist
