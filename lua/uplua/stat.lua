-- Several things counted at a time: hits of probes, by handlers, and events that the kernel counts, with the ratios
-- between them; in all, or by CPU, process, thread or an expression.
--
--   local stat = require "uplua.stat"
--   local counts = stat.new({ "syscall:*", "perf:instructions,cycles" }, { ratios = { "share=syscall:*/cycles" } })
--   up.at_start(function() counts:clear() end)
--   up.every("1s", function()
--     local row = counts:take()                  -- by the columns' titles, with the ratios: row.IPC
--     print(row["syscall:*"], row.instructions, row.IPC)
--   end)
--
-- A spec is one of up.probe, or an event that the kernel counts, perf:page-faults; several events with commas are a
-- group, which is counted at the same times. What a ratio needs and nobody has asked for is counted for it. The ratios
-- that people know (instructions/cycles is IPC; shares of misses) are there without being asked for. Titles are as
-- short as tells the specs apart.
local args         = require "uplua.args"
local by           = require "uplua.by"
local counter      = require "uplua.probe.counter"
local option_table = require "uplua.base.option_table"
local places       = require "uplua.stat.places"
local probe        = require "uplua.probe.any"
local specs        = require "uplua.stat.specs"

local stat = {}

local Stat = {}
Stat.__index = Stat

local SOFTWARE = {
  ["page-faults"] = true, faults = true, ["minor-faults"] = true, ["major-faults"] = true, ["context-switches"] = true,
  cs = true, ["cpu-migrations"] = true, migrations = true, ["alignment-faults"] = true, ["emulation-faults"] = true,
}

-- Has a handler count the hits of SPEC, the I-th.
local function count_hits(self, spec, i)
  local hits, whose = self.hits, self.who and self.who.key
  if whose then
    probe.probe(spec, function(e) hits[{ i, whose(e) }]:inc() end)
  else
    probe.probe(spec, function(e) hits[i]:inc() end)
  end
end

-- The counter of ONE, which those of its group share.
local function counter_of(self, one)
  local key = one.group or one
  if self.counters[key] then return self.counters[key] end
  local good, made = pcall(counter.counter, one.group or one.event, self.by == "cpu" and { cpus = true } or nil)
  if not good then args.fail("%s", made) end
  self.counters[key] = made
  return made
end

local function count(self, one, i)
  local of_target, target = not self.target.whole_machine, self.target
  -- Where the kernel counts apart what --by names: on each CPU, or in each thread of a target.
  local by_places = self.by == "cpu" and not of_target
    or (self.by == "process" or self.by == "thread") and of_target and not target.follow
  if not one.event then
    count_hits(self, one.spec, i)
  elseif self.who and not by_places and SOFTWARE[one.event:match "^[^:]*"] then
    count_hits(self, ("perf:%s:1"):format(one.event), i)
  elseif self.who and not by_places then
    args.fail("--by %s: %s is counted %s; leave out %s", self.by, one.spec,
      of_target and "of a target by process and thread" or "by CPU, and of a target by process and thread",
      target.follow and "--follow" or of_target and self.by == "cpu" and "the target" or "that")
  else
    one.counter = counter_of(self, one)
  end
end

local OPTIONS = {
  by = option_table.text,
  ratios = option_table.check("a list of texts", function(list) return type(list) == "table" and list or nil end),
}

-- new(list, [options]): counts what the specs of LIST say. Options: ratios, as a script's user gives them with --ratio,
-- "A/B" or "NAME=A/B" of titles or events; by, by whom (uplua.by), as the user gives it with --by. It has
--   columns   columns for a view, of by whom, of the specs and of the ratios
--   titles    of the specs
-- Ends the script where a spec or ratio is wrong, or where something cannot be counted by whom it is asked.
function stat.new(list, options)
  if type(list) ~= "table" then error("stat.new: the first argument is a list of specs", 2) end
  local given = option_table.read("stat.new", option_table.named(options or {}), OPTIONS)
  local up = require "uplua"
  local self = setmetatable({
    specs = specs.new(list, given.ratios or {}), by = given.by, who = by.new(given.by), target = up.target(),
    hits = up.count(), counters = {}, last = {}, before = {}, titles = {}, columns = {},
  }, Stat)
  self.places = self.who and places.new(self.by, self.who, self.target)
  for i, one in ipairs(self.specs.list) do
    count(self, one, i)
    self.titles[i] = one.title
  end
  for _, column in ipairs(self.who and self.who.columns or {}) do self.columns[#self.columns + 1] = column end
  for _, column in ipairs(self.specs:columns()) do self.columns[#self.columns + 1] = column end
  return self
end

-- Of a group what COUNTS has of ONE.
local function own(one, counts)
  if one.group then return counts and counts[one.event] end
  return counts
end

-- clear(): begins anew. At the start of the run: counts before that have no known beginning.
function Stat:clear()
  if self.who then self.hits:clear() end
  for _, each in pairs(self.counters) do
    each:clear()
    for place in pairs(self.who and each:places() or {}) do self.places:key(place) end -- while they are there
  end
  for i in ipairs(self.specs.list) do self.last[i] = not self.who and self.hits[i] or 0 end
  self.before = {}
end

-- take(): what was counted since the last take, or the clear: a row with a number for each title, nil where the CPU had
-- no counter free, and with the ratios; by title the share of the time that was counted (1: all of it); and whether
-- there was anything. Not of counts by whom.
function Stat:take()
  if self.who then error("stat:take: it counts by whom, which stat:rows tells", 2) end
  local row, shares, any, taken = {}, {}, false, {}
  for i, one in ipairs(self.specs.list) do
    local n, share = nil, 1
    if one.counter then
      if not taken[one.counter] then taken[one.counter] = { one.counter:take() } end
      n, share = own(one, taken[one.counter][1]), taken[one.counter][2]
    else
      local now = self.hits[i] -- read once: it goes on growing
      n, self.last[i] = now - (self.last[i] or 0), now
    end
    row[one.title], shares[one.title], any = n, share, any or n ~= 0
  end
  return self:ratios(row), shares, any
end

-- ratios(row): puts the ratios of ROW, sums of rows for example, into it. Returns it.
function Stat:ratios(row) return self.specs:add_ratios(row) end

-- Adds to ROWS what EACH, a counter, has counted at its places since the last table.
local function add_places(self, each, row_of)
  local now, last = each:places(), self.before[each] or {}
  for place, counts in pairs(now) do
    local row = row_of(self.places:key(place))
    for _, one in ipairs(self.specs.list) do
      if one.counter == each then
        row[one.title] = (row[one.title] or 0) + (own(one, counts) or 0) - (own(one, last[place]) or 0)
      end
    end
  end
  self.before[each] = now
end

-- rows(): of counts by whom a list of rows for a view: what was counted since the last rows, or the clear.
function Stat:rows()
  if not self.who then error("stat:rows: it does not count by whom; stat:take tells", 2) end
  local rows, of = {}, {}
  local function row_of(key)
    local id = self.places:id(key)
    if not of[id] then
      of[id] = self.who:fill({}, key)
      for _, one in ipairs(self.specs.list) do of[id][one.title] = 0 end
      rows[#rows + 1] = of[id]
    end
    return of[id]
  end
  for _, each in pairs(self.counters) do add_places(self, each, row_of) end
  for key, n in self.hits:take():pairs() do
    local row, one = row_of(key[2]), self.specs.list[tonumber(key[1])]
    row[one.title] = row[one.title] + n
  end
  for _, row in ipairs(rows) do self:ratios(row) end
  return rows
end

return stat
