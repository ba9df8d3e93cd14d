-- Heat maps: how a distribution changes while time goes by, such as the latencies of each second side by side.
--
--   local heat = require "uplua.heat"
--   local h = heat.new { unit = "ns", title = "read", every = "1s" }
--   up.sysreturn("read", function(e) h:add(e.elapsed) end)           in handlers
--   up.at_exit(function() h:print() h:write "read.svg" end)
--
-- Rows are values, on a scale of powers of two ("log"), or of equal steps from `low` to `high` ("linear"). A column is
-- what came in an interval, `every`. There are 512 columns at most: then neighbours are added up, and an interval is
-- twice as long.
local capture      = require "uplua.compile.capture"
local file         = require "uplua.file"
local option_table = require "uplua.base.option_table"
local plot         = require "uplua.plot"
local svg          = require "uplua.heat.svg"
local terminal     = require "uplua.term.terminal"
local text         = require "uplua.base.text"
local view         = require "uplua.view"

local heat = {}
local Heat = {}
Heat.__index = Heat

local MOST_COLUMNS, ROWS, EVERY = 512, 24, 1e9
local WIDTH = 80       -- where no terminal says how wide it is
local AXIS  = 24       -- columns for the rows' names
local FINEST = 4       -- rows of a power of two

local function add_up(column, other)
  for low, n in pairs(other) do column[low] = (column[low] or 0) + n end
  return column
end

-- Adds each two of LIST's first N columns up.
local function halved(list, n)
  local half = {}
  for i = 1, math.ceil(n / 2) do half[i] = add_up(list[2 * i - 1] or {}, list[2 * i] or {}) end
  return half
end

-- The column of the time AT.
local function column_at(self, at)
  local function number() return math.floor((at - self.start) / self.interval) + 1 end
  while number() > MOST_COLUMNS do
    self.columns, self.interval = halved(self.columns, self.last), 2 * self.interval
    self.last = math.ceil(self.last / 2)
  end
  local i = math.max(1, number())
  for c = self.last + 1, i do self.columns[c] = {} end
  self.last = math.max(self.last, i)
  return self.columns[i]
end

-- take(): moves what the handlers have added since the last time into its columns. It runs each `every`, and at the
-- end.
function Heat:take()
  local every = self.every
  self.start = self.start or math.floor(require "uplua".now() / every) * every
  for slice, h in self.values:take():pairs() do
    local column = column_at(self, (tonumber(slice) + 0.5) * every)
    for _, bucket in ipairs(h:buckets()) do
      column[bucket.low] = (column[bucket.low] or 0) + bucket.count
      self.highest[bucket.low] = bucket.high
    end
    self.count = self.count + h.count
  end
end

-- The least and the greatest value from 1 up by whose buckets there is something, and whether there are zeros and
-- negative values.
local function extent(self)
  local least, most, zero, negative
  for low, high in pairs(self.highest) do
    if low == -math.huge then negative = true elseif low == 0 then zero = true else
      least, most = math.min(least or low, low), math.max(most or low, low)
    end
    if low == 0 and high > 0 then zero = nil end
  end
  return least, most, zero, negative
end

local function octave(value) return select(2, math.frexp(value)) - 1 end

-- The rows of a scale of powers of two: a list of { low, below }, the lowest first.
local function log_rows(self)
  local least, most, zero, negative = extent(self)
  local rows = {}
  if negative then rows[1] = { -math.huge, 0 } end
  if zero then rows[#rows + 1] = { 0, 1 } end
  if not least then return rows end
  local first, last, parts, stride = octave(least), octave(most), FINEST, 1
  while parts > 1 and (parts > 2 ^ first or (last - first + 1) * parts > self.rows) do parts = parts / 2 end
  while parts == 1 and math.ceil((last - first + 1) / stride) > self.rows do stride = stride * 2 end
  for k = first, last, stride do
    for part = 0, parts - 1 do
      local low = 2 ^ k * (1 + part / parts)
      local below = parts > 1 and low + 2 ^ k / parts or 2 ^ (k + stride)
      if below > least and low <= most then rows[#rows + 1] = { low, below } end
    end
  end
  return rows
end

-- Those of equal steps: with one for what lies below, and one for what lies above, where there is something.
local function linear_rows(self)
  local rows = {}
  if self.highest[-math.huge] then rows[1] = { -math.huge, self.low } end
  for low = self.low, self.high - 1, self.step do rows[#rows + 1] = { low, low + self.step } end
  local last = rows[#rows][2]
  if self.highest[last] then rows[#rows + 1] = { last, math.huge } end
  return rows
end

local function label_of(self, row)
  if row[1] == -math.huge then return "< " .. text.quantity(row[2], self.unit) end
  return text.quantity(row[1], self.unit)
end

local function range_of(self, row)
  if row[1] == -math.huge then return label_of(self, row) end
  if row[2] == math.huge then return "≥ " .. text.quantity(row[1], self.unit) end
  if row[2] == row[1] + 1 then return text.quantity(row[1], self.unit) end
  return ("[%s, %s)"):format(text.quantity(row[1], self.unit), text.quantity(row[2], self.unit))
end

-- What there is, in MOST columns at most: lists of numbers for each column, and { labels, ranges, times, most,
-- interval } of the picture.
local function matrix(self, most_columns)
  local rows, columns, n, interval = self:rows_of(), self.columns, self.last, self.interval
  while n > most_columns do
    local copy = {}
    for i = 1, n do copy[i] = add_up({}, columns[i] or {}) end
    columns, n, interval = halved(copy, n), math.ceil(n / 2), 2 * interval
  end
  local map = { labels = {}, ranges = {}, times = {}, most = 0, interval = interval }
  for r, row in ipairs(rows) do map.labels[r], map.ranges[r] = label_of(self, row), range_of(self, row) end
  local list = {}
  for c = 1, n do
    local cells = {}
    for r, row in ipairs(rows) do
      cells[r] = 0
      for low, count in pairs(columns[c] or {}) do
        if low >= row[1] and low < row[2] then cells[r] = cells[r] + count end
      end
      map.most = math.max(map.most, cells[r])
    end
    list[c], map.times[c] = cells, text.clock(self.start + (c - 1) * interval):match "^%d+:%d+:%d+"
  end
  return list, map
end

local function told(self, map)
  return ("%s, a column is %s, the darkest cell %s"):format(text.plural(self.count, "value"), text.time(map.interval),
    text.thousands(map.most))
end

-- text([width]): the picture for a terminal, in WIDTH columns.
function Heat:text(width)
  if self.count == 0 then return "(empty)" end
  local list, map = matrix(self, math.max(8, (width or terminal.size() or WIDTH) - AXIS))
  return ("%s%s\n%s"):format(self.title and text.escape(self.title) .. ": " or "", told(self, map),
    plot.heat(list, map.labels, map.times))
end

-- print(): prints it; as data a row for each cell that has something.
function Heat:print()
  self:take()
  local rows = {}
  for c = 1, self.last do
    for low, count in pairs(self.columns[c] or {}) do
      local at = self.start + (c - 1) * self.interval
      rows[#rows + 1] = { at = at, low = low, high = self.highest[low], count = count }
    end
  end
  table.sort(rows, function(a, b) return a.at < b.at or a.at == b.at and a.low < b.low end)
  local cells = view.new { { "at", "Time", "number" }, { "low", "From", "number" }, { "high", "To", "number" },
                           { "count", "Values", "count" } }
  if not cells:data(rows, self.title) then io.stdout:write(self:text(), "\n") end
end

-- svg(): the picture as SVG, which shows a cell's numbers under the pointer.
function Heat:svg()
  self:take()
  local list, map = matrix(self, MOST_COLUMNS)
  map.title, map.below = self.title or "Heat map", self.count > 0 and told(self, map) or "nothing was counted"
  return svg.of(list, map.labels, map)
end

-- write(path): the same as a file. Raises why it cannot be written.
function Heat:write(path)
  if type(path) ~= "string" then error("heat: the argument is the file's path, a text", 2) end
  local written, why = file.write(path, self:svg())
  if not written then error("heat: cannot write " .. why, 2) end
end

local SCALES = { log = log_rows, linear = linear_rows }
local OPTIONS = {
  unit = option_table.text, title = option_table.text, low = option_table.number, high = option_table.number,
  rows = option_table.integer(1, 200), every = text.wait,
  scale = option_table.check("log or linear", function(value) return SCALES[value] and value end),
}

-- The histograms that handlers add to, by the number of the interval.
local function values_of(self, scale)
  local up = require "uplua"
  if scale == "log" then return up.hdr(1, { unit = self.unit }) end
  self.step = math.max(1, math.ceil((self.high - self.low) / self.rows))
  self.high = self.low + math.ceil((self.high - self.low) / self.step) * self.step
  return up.lhist(self.low, self.high, self.step, { unit = self.unit })
end

-- new(options): unit, of the values ("ns", "bytes", "count"); title; scale, "log" or "linear", which has low and high;
-- rows, so many at most (24); every, how long a column is at first ("1s").
function heat.new(given)
  local up = require "uplua"
  local options = option_table.read("heat.new", given, OPTIONS)
  local scale = options.scale or (options.low and options.high) and "linear" or "log"
  if scale == "linear" and not (options.low and options.high and options.low < options.high) then
    error("heat.new: a linear scale goes from low to high: give both", 2)
  end
  local self = setmetatable({
    unit = options.unit, title = options.title, rows = options.rows or ROWS, low = options.low, high = options.high,
    rows_of = SCALES[scale], every = options.every or EVERY, interval = options.every or EVERY, columns = {}, last = 0,
    highest = {}, count = 0,
  }, Heat)
  local values, every, event = values_of(self, scale), self.every, capture.event
  rawset(values, "read", true)
  self.values = values
  -- By the hit's own time: uplua may come late to take what was added.
  self.add = capture.inlined(function(_, value) values[event().time / every]:add(value) end)
  up.at_start(function() self:take() end)
  up.every(self.interval, function() self:take() end)
  return self
end

return heat
