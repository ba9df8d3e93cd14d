-- A histogram as the script sees it: h.count, h.sum, h.avg, h.min, h.max, h:percentile(p), bars by tostring(h). A percentile is
-- interpolated within its bucket, between the exact minimum and maximum. min, max and avg of an empty histogram are nil.
local distribution = require "uplua.distribution"
local text = require "uplua.text"

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

local BAR = 48       -- with labels and counts of up to 12 digits, 80 columns
local GAP = 4        -- so many empty rows in between are left out
local MOST_ROWS = 64 -- more are drawn several to a row

local function short(x)
  if x == nil then return "?" end
  if math.abs(x) < 100 then return tostring(tonumber(("%.1f"):format(x))) end
  return text.thousands(tonumber(("%.0f"):format(x)))
end

-- Rows of { number, count }, ascending; false where empty ones are left out. STRIDE: how many of the scheme's rows are one.
local function rows_of(self, stride)
  local scheme, rows, at = self.scheme, {}, nil
  for _, entry in ipairs(self.buckets) do
    local row = scheme.row(entry[1], stride)
    if at == row then
      rows[#rows][2] = rows[#rows][2] + entry[2]
    else
      if at and row - at > GAP * stride then
        rows[#rows + 1] = false
      elseif at then
        for empty = at + stride, row - stride, stride do rows[#rows + 1] = { empty, 0 } end
      end
      rows[#rows + 1], at = { row, entry[2] }, row
    end
  end
  return rows
end

local function draw(self)
  if self.count == 0 then return "(empty)" end
  local stride, rows = 1, rows_of(self, 1)
  while #rows > MOST_ROWS do
    stride = stride * 2
    rows = rows_of(self, stride)
  end
  local most, names, numbers, labels = 0, 0, 0, {}
  for at, row in ipairs(rows) do
    if row then
      labels[at] = self.scheme.label(row[1], stride)
      most = math.max(most, row[2])
      names, numbers = math.max(names, text.width(labels[at])), math.max(numbers, #text.thousands(row[2]))
    end
  end
  local room = math.max(10, math.min(BAR, 80 - names - numbers - 8))
  local lines = {}
  for at, row in ipairs(rows) do
    if row then
      local number = text.thousands(row[2])
      lines[#lines + 1] = ("  %s%s  %s%s  |%s|"):format((" "):rep(names - text.width(labels[at])), labels[at],
        (" "):rep(numbers - #number), number, text.bar(row[2] / most, room))
    else
      lines[#lines + 1] = "  " .. (" "):rep(names - 1) .. "…"
    end
  end
  if self.scheme.percentiles then
    local parts = {}
    for _, p in ipairs { 50, 90, 99, 99.9 } do
      parts[#parts + 1] = ("%g%% ≤ %s"):format(p, text.thousands(self:percentile(p)))
    end
    lines[#lines + 1] = "  " .. table.concat(parts, ", ")
  end
  lines[#lines + 1] = ("  count %s, avg %s, min %s, max %s"):format(text.thousands(self.count), short(self.avg),
    self.min and text.thousands(self.min) or "?", self.max and text.thousands(self.max) or "?")
  return table.concat(lines, "\n")
end

local metatable = { __index = methods, __tostring = draw }

-- The histogram of a TOTAL (uplua.distribution) by SCHEME (uplua.buckets).
function histogram.new(scheme, total)
  local entries = {}
  local h = distribution.sum_up(total, function(bucket, n) entries[#entries + 1] = { bucket, n } end)
  table.sort(entries, function(a, b) return scheme.lowest(a[1]) < scheme.lowest(b[1]) end)
  h.scheme, h.buckets = scheme, entries
  return setmetatable(h, metatable)
end

return histogram
