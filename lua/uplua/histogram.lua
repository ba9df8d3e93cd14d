-- A histogram as the script sees it: h.count, h.sum, h.avg, h.min, h.max, h:percentile(p), bars by tostring(h). Buckets are
-- powers of two, so that a percentile is interpolated within its bucket, between the exact minimum and maximum.
-- min, max and avg of an empty histogram are nil.
local ffi = require "ffi"
local text = require "uplua.text"

-- struct hist of bpf/aggregate.h: min and max are biased so that 0 means empty.
ffi.cdef "struct uplua_hist { int64_t sum; uint64_t max, min, buckets[66]; };"

local histogram = {}
local methods = {}

local BUCKETS = 66 -- 0: negative values, 1: zeros, 2 + k: 2^k … 2^(k+1) - 1
local SIGN = 0x8000000000000000ULL
local raw_type = ffi.typeof "struct uplua_hist"
local raw_p = ffi.typeof "const struct uplua_hist *"
local int64 = ffi.typeof "int64_t"

local function plain(x)
  if x <= 9007199254740992LL and x >= -9007199254740992LL then return tonumber(x) end
  return x
end

-- The sum of CPUS copies at P.
function histogram.merge(p, cpus, stride)
  local total = raw_type()
  for cpu = 0, cpus - 1 do
    local part = ffi.cast(raw_p, p + cpu * stride)
    total.sum = total.sum + part.sum
    if part.max > total.max then total.max = part.max end
    if part.min > total.min then total.min = part.min end
    for i = 0, BUCKETS - 1 do total.buckets[i] = total.buckets[i] + part.buckets[i] end
  end
  return total
end

local function lowest_of(bucket)
  if bucket == 0 then return -2 ^ 63 end
  if bucket == 1 then return 0 end
  return 2 ^ (bucket - 2)
end

local function highest_of(bucket)
  if bucket == 0 then return -1 end
  if bucket == 1 then return 0 end
  return 2 ^ (bucket - 1) - 1
end

local function bias(x) return bit.bxor(ffi.cast("uint64_t", x), SIGN) end
local function unbias(x) return ffi.cast(int64, bit.bxor(x, SIGN)) end

-- The 64-bit value of a bucket's edge; 2^63 - 1 is no double.
local function edge(x)
  if x >= 2 ^ 63 then return 0x7fffffffffffffffLL end
  return ffi.cast(int64, x)
end

-- What TOTAL has more than BASELINE, an earlier state of it; nil if nothing. Sum and buckets are exact. The extremes are
-- exact where they were reached since; else only their bucket is known, and its edge stands for them.
function histogram.minus(total, baseline)
  local rest, first, last = raw_type(), nil, nil
  for i = 0, BUCKETS - 1 do
    local added = total.buckets[i] - baseline.buckets[i]
    rest.buckets[i] = added
    if added ~= 0 then first, last = first or i, i end
  end
  if not first then return nil end
  rest.sum = total.sum - baseline.sum
  rest.max, rest.min = total.max, total.min
  if total.max == baseline.max then
    local high = bias(edge(highest_of(last)))
    if high < rest.max then rest.max = high end
  end
  if total.min == baseline.min then
    local low = bit.bnot(bias(edge(lowest_of(first))))
    if low < rest.min then rest.min = low end
  end
  return rest
end

-- The value at or below which P percent of the values lie; nil for an empty histogram.
function methods:percentile(p)
  if type(p) ~= "number" or p < 0 or p > 100 then error("percentile: a number from 0 to 100 is expected", 2) end
  if self.count == 0 then return nil end
  local rank = math.max(1, math.ceil(p / 100 * self.count - 1e-9))
  local before = 0
  for i = 0, BUCKETS - 1 do
    local n = tonumber(self.raw.buckets[i])
    if n > 0 and before + n >= rank then
      local low = math.max(lowest_of(i), tonumber(self.min))
      local high = math.min(highest_of(i), tonumber(self.max))
      if rank == self.count then return self.max end
      return math.floor(low + (high - low) * (rank - before) / n)
    end
    before = before + n
  end
  return self.max
end

local UNITS = { "", "K", "M", "G", "T", "P", "E" }

-- 2^k with a unit: 1024 → "1K"
local function power(k)
  return ("%d%s"):format(2 ^ (k % 10), UNITS[math.floor(k / 10) + 1])
end

local function label(bucket)
  if bucket == 0 then return "< 0" end
  if bucket == 1 then return "0" end
  if bucket == 2 then return "1" end
  return ("[%s, %s)"):format(power(bucket - 2), bucket == 65 and "∞" or power(bucket - 1))
end

local BAR = 48 -- with labels and counts of up to 12 digits, 80 columns
local GAP = 4  -- so many empty buckets in a row are left out

local function short(x)
  if math.abs(x) < 100 then return tostring(tonumber(("%.1f"):format(x))) end
  return text.thousands(tonumber(("%.0f"):format(x)))
end

-- The buckets to draw, false where some are left out.
local function drawn(raw)
  local rows, gap = {}, {}
  for i = 0, BUCKETS - 1 do
    if raw.buckets[i] == 0 then
      if #rows > 0 then gap[#gap + 1] = i end
    else
      if #gap >= GAP then gap = { false } end
      for _, row in ipairs(gap) do rows[#rows + 1] = row end
      rows[#rows + 1], gap = i, {}
    end
  end
  return rows
end

local function draw(self)
  if self.count == 0 then return "(empty)" end
  local rows, most, names, numbers = drawn(self.raw), 0, 0, 0
  for _, i in ipairs(rows) do
    if i then
      local n = tonumber(self.raw.buckets[i])
      most = math.max(most, n)
      names, numbers = math.max(names, text.width(label(i))), math.max(numbers, #text.thousands(n))
    end
  end
  local room = math.max(10, math.min(BAR, 80 - names - numbers - 8))
  local lines = {}
  for _, i in ipairs(rows) do
    if i then
      local n = tonumber(self.raw.buckets[i])
      local name, number = label(i), text.thousands(n)
      lines[#lines + 1] = ("  %s%s  %s%s  |%s|"):format((" "):rep(names - text.width(name)), name,
        (" "):rep(numbers - #number), number, text.bar(n / most, room))
    else
      lines[#lines + 1] = "  " .. (" "):rep(names - 1) .. "…"
    end
  end
  lines[#lines + 1] = ("  count %s, avg %s, min %s, max %s"):format(text.thousands(self.count), short(self.avg),
    text.thousands(self.min), text.thousands(self.max))
  return table.concat(lines, "\n")
end

local metatable = { __index = methods, __tostring = draw }

-- The histogram of RAW (from merge or minus).
function histogram.new(raw)
  local count = 0
  for i = 0, BUCKETS - 1 do count = count + tonumber(raw.buckets[i]) end
  local h = { raw = raw, count = count, sum = plain(raw.sum) }
  if count > 0 then
    h.avg = tonumber(raw.sum) / count
    h.max = plain(unbias(raw.max))
    h.min = plain(unbias(bit.bnot(raw.min)))
  end
  return setmetatable(h, metatable)
end

function histogram.empty()
  return histogram.new(raw_type())
end

return histogram
