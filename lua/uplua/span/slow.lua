-- Slow spans (uplua.span), as they come to the script.
local capture      = require "uplua.compile.capture"
local counts       = require "uplua.span.counts"
local loop         = require "uplua.base.loop"
local option_table = require "uplua.base.option_table"
local text         = require "uplua.base.text"
local window       = require "uplua.span.window"

local slow = {}

local OPTIONS = { size = text.size, window = function(value) return value end }

-- The parts of the way of S, a span as SPEC says, in order of time. What it passed before its begin or after its end,
-- by clocks that differ, is none.
local function legs_of(spec, s)
  local passed = {}
  for i, sides in ipairs(spec.via) do
    local side = s.via[i]
    if side and side.time >= s.from.time and side.time <= s.to.time then
      passed[#passed + 1] = { side.time, counts.shown(sides), i }
    end
  end
  table.sort(passed, function(a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[3] < b[3]
  end)
  passed[#passed + 1] = { s.to.time, counts.shown(spec.to) }
  local legs, time, name = {}, s.from.time, counts.shown(spec.from)
  for i, at in ipairs(passed) do
    legs[i] = { from = name, to = at[2], elapsed = at[1] - time }
    time, name = at[1], at[2]
  end
  return legs
end

-- RECORD, a view of a ring's record, as a table of the script's own, which stays.
local function kept(self, record)
  local copy = require "uplua".copy(record)
  local s = { key = copy.key, elapsed = copy.elapsed, from = copy.from, to = copy.to, via = {} }
  for i in ipairs(self.spec.via) do s.via[i] = copy.via[i] or false end
  s.legs = legs_of(self.spec, s)
  return s
end

-- Calls FN with S: now, or where it has a window, AROUND, as soon as that is complete.
local function hand_over(self, s, around, fn)
  local function deliver()
    if not s.events then
      around:fill(s)
      if #s.missing > 0 then self.cut = self.cut + 1 end
      fn(s)
    end
  end
  if not around then return fn(s) end
  if self.stopped then return deliver() end
  self.waiting[deliver] = s.to.time
  loop.at(loop.now() + around:due(s), function()
    self.waiting[deliver] = nil
    deliver()
  end)
end

-- watch(self): what waits for its window when the run ends is delivered then.
function slow.watch(self)
  self.waiting, self.stopped, self.cut = {}, false, 0
  loop.at_stop(function() self.stopped = true end)
  loop.at_exit(function()
    local list = {}
    for deliver in pairs(self.waiting) do list[#list + 1] = deliver end
    table.sort(list, function(a, b) return self.waiting[a] < self.waiting[b] end)
    self.waiting = {}
    for _, deliver in ipairs(list) do deliver() end
  end)
end

-- deliver(self, than, options, fn): calls FN for each span of SELF that took at least THAN.
function slow.deliver(self, than, given, fn)
  local least, message = text.duration(than)
  if not least then error("slow: " .. message, 3) end
  if type(fn) ~= "function" then error("slow: the last argument is a function, not " .. text.shown(fn), 3) end
  local options = option_table.read("slow", given, OPTIONS, 3)
  local around = options.window and window.new(options.window)
  local slow_spans = require "uplua".ring { size = options.size or "1M", order = false } -- so the ledger calls it
  self:done(capture.inlined(function(s)
    if s.elapsed >= least then slow_spans:emit(s) end
  end))
  slow_spans:each(function(record) hand_over(self, kept(self, record), around, fn) end)
end

return slow
