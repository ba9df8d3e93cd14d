-- A histogram as the script sees it: h.count, h.sum, h.avg, h.min, h.max, h:percentile(p), bars by tostring(h). A percentile is
-- interpolated within its bucket, between the exact minimum and maximum. min, max and avg of an empty histogram are nil.
local distribution = require "uplua.distribution"
local plot = require "uplua.plot"

local histogram = {}
local methods = {}

-- The value at or below which P percent of the values lie; nil for an empty histogram.
function methods:percentile(p)
  if type(p) ~= "number" or p < 0 or p > 100 then error("percentile: a number from 0 to 100 is expected", 2) end
  if self.count == 0 then return nil end
  local rank = math.max(1, math.ceil(p / 100 * self.count - 1e-9))
  if rank == self.count and self.max then return self.max end
  local scheme, before = self.scheme, 0
  for _, entry in ipairs(self.buckets) do
    local i, n = entry[1], entry[2]
    if before + n >= rank then
      local low, high = scheme.lowest(i), scheme.highest(i)
      if self.min then low = math.max(low, tonumber(self.min)) end
      if self.max then high = math.min(high, tonumber(self.max)) end
      return math.floor(low + (high - low) * (rank - before) / n)
    end
    before = before + n
  end
end

local metatable = { __index = methods, __tostring = plot.histogram }

-- The histogram of a TOTAL (uplua.distribution) by SCHEME (uplua.buckets).
function histogram.new(scheme, total)
  local entries = {}
  local h = distribution.sum_up(total, function(bucket, n) entries[#entries + 1] = { bucket, n } end)
  table.sort(entries, function(a, b) return scheme.lowest(a[1]) < scheme.lowest(b[1]) end)
  h.scheme, h.buckets = scheme, entries
  return setmetatable(h, metatable)
end

return histogram
