-- When within a second do events come, and where? Counts by slice of time and row, a CPU or any other number, and a
-- picture of them: a row for each, a column for each slice, the darker, the more.
--
--   local slices = require "uplua.slices"
--   local hits = slices.new { slice = "1ms", title = "CPU" }
--   up.tracepoint("sched:sched_wakeup", function(e) hits:add(e.cpu) end)   in handlers
--   up.every("1s", function() hits:print() end)                           what has been since the last picture
--
-- Where there are more slices than columns, neighbours are added up.
local aggregate    = require "uplua.objects.aggregate"
local capture      = require "uplua.compile.capture"
local option_table = require "uplua.base.option_table"
local plot         = require "uplua.plot"
local text         = require "uplua.base.text"
local up           = require "uplua"
local view         = require "uplua.view"

local slices = {}
local Slices = {}
Slices.__index = Slices

local MOST = 1048576           -- slices and rows that are counted until they are taken
local NAMES, WIDEST = 9, 80    -- columns
local NARROWEST = 8

-- hits:add(row) in handlers; e.time tells the slice.
local function adder(counts, slice)
  return capture.inlined(function(_, row)
    local e = capture.event()
    counts[{ e.time / slice, row }]:inc()
  end)
end

local OPTIONS = { slice = text.duration, title = option_table.text }

-- new(options): slice, how long one is; title, what a row is called ("CPU").
function slices.new(options)
  options = option_table.read("slices.new", options, OPTIONS)
  if not options.slice or options.slice < 1 then error("slices.new: how long is a slice? Give slice = \"1ms\"", 2) end
  local title = options.title or "CPU"
  local counts = aggregate.keep_quiet(up.count { max = MOST })
  local self = setmetatable({
    slice = options.slice, title = title, counts = counts, first = nil, -- the first slice of the next picture
    later = {},                                                         -- rows of slices that are not over
    cells = view.new { { "at", "Time", "clock" }, { title:lower(), title, "number" }, { "n", "Hits", "count" } },
    add = adder(counts, options.slice),
  }, Slices)
  up.at_start(function() self.first = math.floor(up.now() / self.slice) end)
  return self
end

-- take([all]): what has been counted since the last time, in the slices that are over, or in ALL: a list of { at,
-- slice, row, n } in order of time and row, and the numbers of the first and the last slice that it is about.
function Slices:take(all)
  local current, sums, list = math.floor(up.now() / self.slice) + (all and 1 or 0), {}, {}
  local function add(slice, row, n)
    local name = ("%.0f %.0f"):format(slice, row)
    sums[name] = sums[name] or { at = slice * self.slice, slice = slice, row = row, n = 0 }
    sums[name].n = sums[name].n + n
  end
  for key, n in self.counts:take():pairs() do add(tonumber(key[1]), tonumber(key[2]), tonumber(n)) end
  for _, one in ipairs(self.later) do add(one.slice, one.row, one.n) end
  self.later = {}
  local first = self.first or current
  for _, one in pairs(sums) do
    one[self.title:lower()] = one.row -- as data it is called so
    local into = one.slice < current and list or self.later
    into[#into + 1] = one
    first = math.min(first, one.slice)
  end
  table.sort(list, function(a, b) return a.slice < b.slice or a.slice == b.slice and a.row < b.row end)
  self.first = current
  return list, first, current - 1
end

-- LIST as columns of numbers, of which the rows of ORDER, row → its place, are COUNT, from slice FIRST to LAST; STRIDE
-- slices are one column. And the times of the columns.
local function columns_of(self, list, order, count, first, last, stride)
  local columns, times = {}, {}
  for c = 1, math.ceil((last - first + 1) / stride) do
    columns[c], times[c] = {}, up.clock((first + (c - 1) * stride) * self.slice):match "[%d:]+%.%d%d%d"
    for i = 1, count do columns[c][i] = 0 end
  end
  for _, one in ipairs(list) do
    local column = columns[math.floor((one.slice - first) / stride) + 1]
    column[order[one.row]] = column[order[one.row]] + one.n
  end
  return columns, times
end

-- print([all]): draws what take(all) returns, above it how many hits there were and the slice that had most; as data
-- where the run's format is that.
function Slices:print(all)
  local list, first, last = self:take(all)
  if self.cells:data(list) then return end
  if #list == 0 then return up.printf("%s: nothing\n", up.clock(first * self.slice):match "[%d:]+") end
  local sum, most, rows, order, labels = 0, list[1], {}, {}, {}
  for _, one in ipairs(list) do
    sum, most = sum + one.n, one.n > most.n and one or most
    if not order[one.row] then rows[#rows + 1], order[one.row] = one.row, true end
  end
  table.sort(rows)
  for i, row in ipairs(rows) do order[row], labels[i] = i, ("%s %d"):format(self.title, row) end
  local _, width = view.stream { { "a", "A" } }:room()
  local room = math.max(NARROWEST, math.min(width, WIDEST) - NAMES)
  local stride = math.max(1, math.ceil((last - first + 1) / room))
  up.printf("%s in %s, a column is %s; most in %s: %s, on %s %d at %s\n", text.plural(sum, "hit"),
    text.time((last - first + 1) * self.slice), text.time(stride * self.slice), text.time(self.slice),
    text.thousands(most.n), self.title, most.row, up.clock(most.at))
  local columns, times = columns_of(self, list, order, #rows, first, last, stride)
  io.write(plot.heat(columns, labels, times), "\n")
end

return slices
