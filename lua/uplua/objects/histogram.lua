-- A histogram as the script sees it: h.count, h.sum, h.avg, h.min, h.max, h:percentile(p), bars by tostring(h). A
-- percentile is interpolated within its bucket, between the exact minimum and maximum. min, max and avg of an empty
-- histogram are nil.
local distribution = require "uplua.objects.distribution"
local plot = require "uplua.plot"

local histogram = {}
local methods = {}

-- The value of rank RANK among the N in bucket I of H; nil and the bucket's label where nothing says how far its values
-- go.
local function within(h, i, rank, n)
  local scheme = h.scheme
  local low, high = scheme.lowest(i), scheme.highest(i)
  local open = low == -math.huge or high == math.huge
  if h.min and low <= tonumber(h.min) then low = tonumber(h.min) end
  if h.max and high >= tonumber(h.max) then high = tonumber(h.max) end
  if open and low ~= high then return nil, scheme.label(scheme.row(i, 1), 1) end
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
  for _, entry in ipairs(self.buckets) do
    if before + entry[2] >= rank then return within(self, entry[1], rank - before, entry[2]) end
    before = before + entry[2]
  end
end

local metatable = { __index = methods, __tostring = plot.histogram }

-- The histogram of a TOTAL (uplua.objects.distribution) of the aggregation S by SCHEME (uplua.objects.buckets).
function histogram.new(s, scheme, total)
  local entries = {}
  local h = distribution.sum_up(s, total, function(bucket, n) entries[#entries + 1] = { bucket, n } end)
  table.sort(entries, function(a, b) return scheme.lowest(a[1]) < scheme.lowest(b[1]) end)
  h.scheme, h.buckets = scheme, entries
  return setmetatable(h, metatable)
end

return histogram
