-- Counting without a handler, as perf stat does: the kernel counts, the script reads when it wants to.
local core  = require "uplua.core"
local event = require "uplua.event"
local options = require "uplua.options"
local text  = require "uplua.text"

local counter = {}

local Counter = {}
Counter.__index = Counter

-- What VALUE would be if a counter had been free all the time, and the share of the time that one was: of the nanoseconds ENABLED those RUNNING. nil, 0
-- where there never was one.
function counter.scale(value, enabled, running)
  if running >= enabled then return value, 1 end
  if running <= 0 then return nil, 0 end
  return value * (enabled / running), running / enabled
end

-- The sums over all places of what NOW says beyond BEFORE: a list of counts by event, the least share of the time, and, by place, the same lists.
local function sums(self, now, before)
  local total, least, places = {}, 1, {}
  for _, place in ipairs(now) do
    local counts, last = {}, before[place[1]]
    for i = 1, #self.names do
      local c, b = place[i + 1], last and last[i + 1] or { 0, 0, 0 }
      local value, share = counter.scale(c[1] - b[1], c[2] - b[2], c[3] - b[3])
      counts[i] = value and math.floor(value + 0.5)
      total[i] = (total[i] or 0) + (value or 0)
      least = math.min(least, share)
    end
    places[place[1]] = counts
  end
  for i = 1, #self.names do total[i] = math.floor((total[i] or 0) + 0.5) end
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

-- c:read() → what was counted since the beginning: a number, or { [event] = number } of a group; and the share of the time, 1 at best, that the
-- CPU had counters free for it: the numbers are scaled up for the rest.
function Counter:read()
  local total, share = sums(self, self.core:read(), {})
  return shape(self, total), share
end

-- c:take() → the same since the last take, or the beginning.
function Counter:take()
  local now = self.core:read()
  local total, share = sums(self, now, self.taken)
  self.taken = by_place(now)
  return shape(self, total), share
end

-- c:places() → the same as read by place: { [CPU] = … }, or { [thread] = … } where there is a target. A thread's include those of the threads that it has created
-- since.
function Counter:places()
  local _, _, places = sums(self, self.core:read(), {})
  local shaped = {}
  for place, counts in pairs(places) do shaped[place] = shape(self, counts) end
  return shaped
end

-- c:close() ends it.
function Counter:close() self.core:close() end

function Counter:__tostring()
  local total, share = sums(self, self.core:read(), {})
  local lines = {}
  for i, name in ipairs(self.names) do
    lines[i] = ("%15s  %s%s"):format(text.thousands(total[i]), name, share < 0.995 and (" (counted %.0f %% of the time)"):format(share * 100) or "")
  end
  return table.concat(lines, "\n")
end

local OPTIONS = { cgroup = "string", cpus = "boolean", children = "boolean" }

-- counter(event | { event, … }, [options]): counts from now on, a command from its start on: in the target's threads, without a target on all CPUs. Several events
-- are one group, which is counted at the same times. Options: cpus = true (each CPU, whoever runs there), cgroup = "/sys/fs/cgroup/…" (its processes), children = true (those
-- that the target starts, or has started, too). Raises what is wrong with the arguments, and what cannot be counted.
function counter.counter(what, given)
  local names = type(what) == "table" and what or { what }
  if #names == 0 then error('counter: the argument is an event\'s name or a list of them: counter("page-faults")', 2) end
  local events = {}
  for i, name in ipairs(names) do
    if type(name) ~= "string" then error('counter: the argument is an event\'s name or a list of them: counter("page-faults")', 2) end
    local found, message = event.find(name)
    if not found then error(("counter %s: %s"):format(name, message), 2) end
    events[i] = found
  end
  if given ~= nil and type(given) ~= "table" then error("counter: options are a table", 2) end
  local chosen = { children = options.follow }
  for key, value in pairs(given or {}) do
    if not OPTIONS[key] then error(("counter: unknown option '%s'"):format(tostring(key)), 2) end
    if type(value) ~= OPTIONS[key] then error(("counter: %s is a %s"):format(key, OPTIONS[key]), 2) end
    chosen[key] = value
  end
  if options.comms then error("counter: the kernel counts without asking for the threads' names: leave out --comm", 2) end
  if options.cgroup and not chosen.cgroup then
    error("counter: --cgroup is for handlers; write counter(event, { cgroup = \"/sys/fs/cgroup/…\" })", 2)
  end
  local ok, result = pcall(core.event.count, events, chosen)
  if not ok then error(("counter %s: %s"):format(table.concat(names, ", "), result), 2) end
  local copy = {}
  for i, name in ipairs(names) do copy[i] = name end
  return setmetatable({ core = result, names = copy, group = type(what) == "table", taken = {} }, Counter)
end

return counter
