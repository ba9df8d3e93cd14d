-- Windows of slow spans (uplua.span): what else happened around them. Handlers keep the events of other probes in a
-- recorder, which is read only when a span was slow; so nothing wakes the script, and nothing travels, while none is.
--
-- window = { SPEC, { SPEC, key = fn, where = fn, options of its probe }, …, by = "thread", before = "1ms",
--            after = "1ms", size = "1M", stack = true, kernel = true, depth = n }
local capture      = require "uplua.compile.capture"
local hits         = require "uplua.trace.hits"
local option_table = require "uplua.base.option_table"
local loop         = require "uplua.base.loop"
local failure      = require "uplua.base.failure"
local providers    = require "uplua.probe.providers"
local record       = require "uplua.objects.record"
local recorder     = require "uplua.objects.recorder"
local text         = require "uplua.base.text"

local window = {}
local Window = {}
Window.__index = Window

local AROUND = 1000000 -- ns before and after
local MARGIN = 1e6     -- ns: what is due is read so much later, since handlers that have begun in time may still write

local BY = option_table.check("one of thread, process, cpu, key, all", function(value)
  return ({ thread = value, process = value, cpu = value, key = value, all = value })[value]
end)
local FUNCTION = option_table.check("a function", function(value) return type(value) == "function" and value or nil end)
local OPTIONS = {
  by = BY, before = text.duration, after = text.duration, size = text.size, stack = option_table.boolean,
  kernel = option_table.boolean, depth = option_table.integer(0, 8),
}
local PARTS = { key = FUNCTION, where = FUNCTION }

local any = capture.inlined(function() return true end)

-- The probes GIVEN as hits.declare takes them.
local function specs_of(given, by, level)
  local list = {}
  for i, one in ipairs(given) do
    local spec, options = one, {}
    if type(one) == "table" then spec, options = one[1], option_table.named(one) end
    if type(spec) ~= "string" then error("slow: a window is a list of specs, such as \"syscall:*\"", level) end
    local parts, of_probe = {}, {}
    for name, value in pairs(options) do (PARTS[name] and parts or of_probe)[name] = value end
    parts = option_table.read("slow: window " .. spec, parts, PARTS, level)
    if (by == "key") ~= (parts.key ~= nil) then
      error(("slow: window %s: %s"):format(spec, by == "key" and "it is by key: give { SPEC, key = function(e) … end }"
        or "a key is for by = \"key\""), level)
    end
    if providers.of_spec(spec).of_nobody and (by == "thread" or by == "process") then
      failure.mistake(("slow: window %s: its events are no thread's: by = \"cpu\" or \"all\""):format(spec))
    end
    list[i] = { spec, where = parts.where or any, key = parts.key, options = of_probe }
  end
  if #list == 0 then error("slow: a window names no probe", level) end
  return list
end

-- new(given): declares the probes of the window GIVEN.
function window.new(given)
  local level = 4
  if type(given) ~= "table" then
    error("slow: a window is a list of specs: { \"syscall:*\", \"profile:999\", by = \"thread\" }", level)
  end
  local options = option_table.read("slow: window", option_table.named(given), OPTIONS, level)
  local by = options.by or "thread"
  local self = setmetatable({
    by = by, before = options.before or AROUND, after = options.after or AROUND,
    recorder = recorder.new { size = options.size },
    options = {
      where = any, timed = true, thread_only = by == "thread", stack = options.stack, kernel = options.kernel,
      depth = options.depth,
    },
  }, Window)
  self.parts = hits.declare(self.recorder, specs_of(given, by, level + 1), self.options)
  return self
end

-- The values of FIELD of the sides of S, as a set.
local function of_sides(s, field)
  local set = {}
  local function add(side)
    if side and side[field] ~= nil then set[tonumber(side[field])] = true end
  end
  add(s.from)
  add(s.to)
  for _, side in ipairs(s.via) do add(side) end
  return set
end

-- The sides of S by their threads, which tell what a record by thread leaves out.
local function by_thread(s)
  local sides = {}
  for _, side in ipairs { s.to, s.from, unpack(s.via) } do
    if side and side.tid ~= nil then sides[tonumber(side.tid)] = side end
  end
  return sides
end

-- What tells of a record whether it belongs to S.
local function belongs(self, s)
  if self.by == "thread" or self.by == "process" then
    local field = self.by == "thread" and "tid" or "pid"
    local set = of_sides(s, field)
    return function(one) return set[tonumber(one[field])] end
  elseif self.by == "key" then
    local key = record.show(s.key)
    return function(one) return one.key ~= nil and record.show(one.key) == key end
  end
  return any
end

-- fill(s): gives S, a span that has ended, its events and what is missing of them.
function Window:fill(s)
  local wanted, events, sides = belongs(self, s), {}, self.by == "thread" and by_thread(s)
  local first, last = tonumber(s.from.time) - self.before, tonumber(s.to.time) + self.after
  local found, missing = self.recorder:between(first, last, self.by == "cpu" and of_sides(s, "cpu") or nil)
  for _, one in ipairs(found) do
    if wanted(one.record) then
      local event = hits.event(self.parts, one.record, self.options)
      event.time, event.cpu, event.since = one.time, one.cpu, one.time - tonumber(s.from.time)
      if sides then event.pid, event.comm = sides[tonumber(event.tid)].pid, sides[tonumber(event.tid)].comm end
      events[#events + 1] = event
    end
  end
  s.events, s.missing = events, missing
end

-- due(s): seconds until all that belongs to S has been recorded.
function Window:due(s)
  return math.max(0, (tonumber(s.to.time) + self.after + MARGIN - require "uplua".now()) / 1e9)
end

return window
