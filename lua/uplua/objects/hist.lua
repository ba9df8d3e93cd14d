-- Histograms that handlers add to: of powers of two, of equal steps, and of a given precision.
--   local h = up.hist()           handlers: h:add(v), h[key]:add(v)
--   local h = up.lhist(0, 100, 10)          buckets of 10 values, one for what is below 0 and one for 100 and above
--   local h = up.hdr(2)                     values to 2 significant digits, as HdrHistogram keeps them
--   h.count  h.sum  h.avg  h.min  h.max  h:percentile(99)  h:buckets()     unkeyed; of h:get()
--   h[key].count …  h:pairs()  h:top(10, "sum")               keyed; ordered by count unless said otherwise
--   h:take()  h:clear()  print(h)
-- A percentile is interpolated within its bucket, between the exact minimum and maximum. min, max and avg of an empty
-- histogram are nil.
-- Each takes options after these: { max = 65536 } keys; { unit = "ns" }, "bytes" or "count", in which print shows it. A
-- large lhist or hdr keeps only those stretches of 128 buckets that are used; each counts as a key.
local aggregate = require "uplua.objects.aggregate"
local buckets = require "uplua.objects.buckets"
local distribution = require "uplua.objects.distribution"
local plot = require "uplua.plot"
local text = require "uplua.base.text"

local hist = {}

local MOST_BUCKETS, MOST_DIGITS = 1000000, 4
local PROPERTIES = { count = true, sum = true, avg = true, min = true, max = true, percentile = true, buckets = true }

local log2 = buckets.log2()
local methods = {} -- of a histogram as the script sees it

-- The value of rank RANK among the N in bucket I of H; nil and the bucket's label where nothing says how far its values
-- go.
local function within(h, i, rank, n)
  local scheme = h.scheme
  local low, high = scheme.lowest(i), scheme.highest(i)
  local open = low == -math.huge or high == math.huge
  if h.min and low <= tonumber(h.min) then low = tonumber(h.min) end
  if h.max and high >= tonumber(h.max) then high = tonumber(h.max) end
  if open and low ~= high then return nil, scheme.label(scheme.row(i, 1), 1, h.unit) end
  local value = math.floor(low + (high - low) * rank / n)
  if h.max and value >= tonumber(h.max) then return h.max end
  return value
end

-- The value at or below which P percent of the values lie: the minimum for 0, the maximum for 100; nil for an empty
-- histogram. Where the value lies in a bucket that has no end, nil and the bucket's label: "≥ 1,000".
function methods:percentile(p)
  if type(p) ~= "number" or not (p >= 0 and p <= 100) then
    error("percentile: a number from 0 to 100 is expected", 2)
  end
  if self.count == 0 then return nil end
  local rank = math.max(1, math.ceil(p / 100 * self.count - 1e-9))
  if rank == self.count and self.max then return self.max end
  if rank == 1 and self.min then return self.min end
  local before = 0
  for _, entry in ipairs(self.entries) do
    if before + entry[2] >= rank then return within(self, entry[1], rank - before, entry[2]) end
    before = before + entry[2]
  end
end

-- The buckets that have values, in order: { low =, high =, count = }, of which low and high are the least and the
-- greatest integer that belongs there; beyond 2^53, the greatest that a number holds. -math.huge and math.huge where
-- there is no end.
function methods:buckets()
  local list, scheme = {}, self.scheme
  for i, entry in ipairs(self.entries) do
    list[i] = { low = scheme.lowest(entry[1]), high = scheme.highest(entry[1]), count = entry[2] }
  end
  return list
end

local metatable = { __index = methods, __tostring = plot.histogram }

-- The histogram of a TOTAL (uplua.objects.distribution) of the aggregation S.
local function new_value(s, total)
  local entries, scheme = {}, s.buckets or log2
  local h = distribution.sum_up(s, total, function(bucket, n) entries[#entries + 1] = { bucket, n } end)
  table.sort(entries, function(a, b) return scheme.lowest(a[1]) < scheme.lowest(b[1]) end)
  h.scheme, h.entries, h.unit = scheme, entries, s.unit
  return setmetatable(h, metatable)
end

local operations = distribution.operations(new_value, "count")

hist.hist = aggregate.constructor("hist", operations, PROPERTIES)

local function integer(value, name)
  if type(value) ~= "number" or value ~= math.floor(value) then
    error(("lhist: %s is a whole number, not %s"):format(name, text.shown(value)), 4)
  end
  if math.abs(value) > 2 ^ 53 then
    error(("lhist: %s is at most 2^53 from 0, not %s"):format(name, text.plain(value)), 4)
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
    error(("lhist: %s buckets; there can be %s"):format(text.thousands(count), text.thousands(MOST_BUCKETS)), 3)
  end
  return options, buckets.linear(low, step, count)
end)

hist.hdr = aggregate.constructor("hdr", operations, PROPERTIES, function(digits, options)
  if type(digits) == "table" then digits, options = nil, digits end
  digits = digits or 2
  if type(digits) ~= "number" or digits ~= math.floor(digits) or digits < 1 or digits > MOST_DIGITS then
    error(("hdr: the significant digits are a whole number from 1 to %d, not %s")
      :format(MOST_DIGITS, text.shown(digits)), 3)
  end
  return options, buckets.hdr(digits)
end)

return hist
