-- Counting without a handler, as perf stat does: the kernel counts, the script reads when it wants to.
local core         = require "uplua.core"
local perf_events  = require "uplua.probe.perf_events"
local option_table = require "uplua.base.option_table"
local options      = require "uplua.options"
local run          = require "uplua.base.run"
local text         = require "uplua.base.text"

local counter = {}

local Counter = {}
Counter.__index = Counter

local own = run.part(function()
  return {
    all = setmetatable({}, { __mode = "v" }), -- those that are in use
    made = 0,
  }
end)

-- Scales VALUE up to the whole time, since a counter was free only for RUNNING of the ENABLED nanoseconds. Returns the
-- scaled value and that share. nil, 0 where there never was one.
function counter.scale(value, enabled, running)
  if running >= enabled then return value, 1 end
  if running <= 0 then return nil, 0 end
  return value * (enabled / running), running / enabled
end

-- The sum of an event, the share of the time that it was counted in the place where that was least, and its counts by
-- place: of PLACES, { { value, enabled, running } beyond what they were before, … }. A place where the event was never
-- counted is taken to be like the others; nil: it was counted in no place.
local function sum_of(places)
  local sum, least, enabled, counted, counts = 0, 1, 0, 0, {}
  for i, place in ipairs(places) do
    local value, share = counter.scale(place[1], place[2], place[3])
    counts[i] = value and math.floor(value + 0.5)
    sum, least, enabled = sum + (value or 0), math.min(least, share), enabled + place[2]
    if value then counted = counted + place[2] end
  end
  if counted == 0 and enabled > 0 then return nil, 0, counts end
  if counted < enabled then sum = sum * (enabled / counted) end
  return math.floor(sum + 0.5), least, counts
end

local NOTHING, NONE = {}, { 0, 0, 0 }

-- What NOW says beyond BEFORE: a list of sums by event, the least share of the time, and, by place, lists of counts.
-- What is no exact number is noted.
local function sums(self, now, before)
  local total, least, places = {}, 1, {}
  for _, place in ipairs(now) do places[place[1]] = {} end
  for i = 1, #self.names do
    local counted = {}
    for n, place in ipairs(now) do
      local c, b = place[i + 1], (before[place[1]] or NOTHING)[i + 1] or NONE
      counted[n] = { c[1] - b[1], c[2] - b[2], c[3] - b[3] }
    end
    local share, counts
    total[i], share, counts = sum_of(counted)
    least = math.min(least, share)
    for n, place in ipairs(now) do places[place[1]][i] = counts[n] end
  end
  if least < 1 then self.scaled, self.least = self.scaled + 1, math.min(self.least, least) end
  self.looked = true
  return total, least, places
end

-- COUNTS, a list by event, as the script wants it: one number, or by name where the counter is a group.
local function shape(self, counts)
  if not self.group then return counts[1] end
  local named = {}
  for i, name in ipairs(self.names) do named[name] = counts[i] end
  return named
end

local function by_place(list)
  local places = {}
  for _, place in ipairs(list) do places[place[1]] = place end
  return places
end

-- What it says now, or, once the run is over, what it said at its end.
local function reading(self) return self.final or self.core:read() end

-- c:read() → what was counted since the beginning: a number, or { [event] = number } of a group; and the share of the
-- time, 1 at best, that the CPU had counters free for it: the numbers are scaled up for the rest. nil where it had none
-- at all.
function Counter:read()
  local total, share = sums(self, reading(self), self.began)
  return shape(self, total), share
end

-- c:take() → the same since the last take, or the beginning.
function Counter:take()
  local now = reading(self)
  local total, share = sums(self, now, self.taken)
  self.taken = by_place(now)
  return shape(self, total), share
end

-- c:places() → the same as read by place: { [CPU] = … }, or { [thread] = … } where there is a target. A thread's
-- include those of the threads that it has created since.
function Counter:places()
  local _, _, places = sums(self, reading(self), self.began)
  local shaped = {}
  for place, counts in pairs(places) do shaped[place] = shape(self, counts) end
  return shaped
end

-- c:clear() begins anew.
function Counter:clear()
  self.began = by_place(reading(self))
  self.taken = self.began
end

-- c:close() ends it: what was counted so far can still be read.
function Counter:close()
  self.final = reading(self)
  self.core:close()
end

-- What is said of a number that was counted for a SHARE of the time: " (82.3 %)", as perf does; "" where it is exact.
function counter.share(share) return share < 1 and (" (%.1f %%)"):format(math.min(99.9, 100 * share)) or "" end

function Counter:__tostring()
  local total, share = sums(self, reading(self), self.began)
  local lines = {}
  for i, name in ipairs(self.names) do
    lines[i] = ("%15s  %s%s"):format(total[i] and text.thousands(total[i]) or "not counted", name, counter.share(share))
  end
  return table.concat(lines, "\n")
end

-- True while there are counters that count.
function counter.counts()
  for _, each in pairs(own().all) do
    if not each.final then return true end
  end
  return false
end

-- Those of TABLE's values that are counters: a list of { name, counter } in the order in which they were made, without
-- those at which the script has looked.
function counter.unread(values)
  local names, list = {}, {}
  for name, value in pairs(values) do
    if type(name) == "string" and getmetatable(value) == Counter and own().all[value.number] == value
      and not value.looked then
      if not names[value] or name < names[value] then names[value] = name end
    end
  end
  for value, name in pairs(names) do list[#list + 1] = { name, value } end
  table.sort(list, function(a, b) return a[2].number < b[2].number end)
  return list
end

-- To be called when the run is over: what is read from then on is what was counted until then.
function counter.finish()
  for _, each in pairs(own().all) do each.final = reading(each) end
end

-- For the ledger: { { text, count }, … }, what was read of counters for which the CPU had no room all the time.
function counter.lost()
  local list, mine = {}, own()
  for number = 1, mine.made do
    local each = mine.all[number]
    if each and each.scaled > 0 then
      local estimated = ("counter %s: numbers that are estimates, since the CPU had counters free for it only " ..
                         "%.1f %% of the time"):format(table.concat(each.names, ", "), math.min(99.9, 100 * each.least))
      list[#list + 1] = { estimated, each.scaled }
    end
  end
  return list
end

-- event(spec) → the event's name where SPEC is one that a counter counts, "perf:page-faults"; nil where it is another
-- probe's, or says how often it samples, "perf:page-faults:100".
function counter.event(spec)
  local event = spec:match "^perf:(.+)$"
  return event and not event:find "@" and not event:find ":%d[^:]*$" and event or nil
end

local OPTIONS = { cgroup = option_table.text, cpus = option_table.boolean, children = option_table.boolean }

-- counter(event | { event, … }, [options]): counts from now on, a command from its start on: in the target's threads,
-- without a target on all CPUs. Several events are one group, which is counted at the same times. Options: cpus = true
-- (each CPU, whoever runs there), cgroup = "/sys/fs/cgroup/…" (its processes), children = true (those that the target
-- starts, or has started, too). Raises what is wrong with the arguments, and what cannot be counted.
function counter.counter(what, given)
  local names = type(what) == "table" and what or { what }
  local events = {}
  for i = 1, math.max(#names, 1) do
    local name = names[i]
    if type(name) ~= "string" then
      error('counter: the argument is an event\'s name or a list of them: counter("page-faults")', 2)
    end
    local found, message = perf_events.find(counter.event(name) or name)
    if not found then error(("counter %s: %s"):format(name, message), 2) end
    events[i] = found
  end
  local chosen = option_table.read("counter", given, OPTIONS)
  if chosen.children == nil then chosen.children = options.follow end
  if options.comms then
    error("counter: the kernel counts without asking for the threads' names: leave out --comm", 2)
  end
  if options.cgroup and not chosen.cgroup then
    error("counter: --cgroup is for handlers; write counter(event, { cgroup = \"/sys/fs/cgroup/…\" })", 2)
  end
  local ok, result = pcall(core.event.count, events, chosen)
  if not ok then error(("counter %s: %s"):format(table.concat(names, ", "), result), 2) end
  local mine = own()
  mine.made = mine.made + 1
  local new = setmetatable({
    core = result, names = { unpack(names) }, group = type(what) == "table", began = {}, taken = {},
    number = mine.made, scaled = 0, least = 1,
  }, Counter)
  mine.all[mine.made] = new
  return new
end

return counter
