-- Spans: what begins at one probe and ends at another, paired in the kernel by a key: requests, jobs, transactions,
-- whichever threads, processes or parts of the kernel their ends are in.
--
--   local span = require "uplua.span"
--   local requests = span.new {
--     from = { "usdt:app:queued", key = function(e) return e.arg0 end, keep = function(e) return { n = e.arg1 } end },
--     to   = { "usdt:app:answered", key = function(e) return e.arg0 end },
--   }
--   requests:done(function(s) took[s.to.comm]:add(s.elapsed) end)       a handler: it runs in the kernel
--   requests:slow("10ms", function(s) print(s.key, s.from.n) end)   a callback: only the slow ones come here
--
-- The functions key, keep, where and time are handlers' parts: the compiler inlines them.
local capture      = require "uplua.compile.capture"
local counts       = require "uplua.span.counts"
local failure      = require "uplua.base.failure"
local handlers     = require "uplua.span.handlers"
local lines        = require "uplua.span.lines"
local option_table = require "uplua.base.option_table"
local probe        = require "uplua.probe.any"
local slow         = require "uplua.span.slow"
local text         = require "uplua.base.text"
local times        = require "uplua.span.times"

local span = {}

local check_function = option_table.check("a function", function(value)
  return type(value) == "function" and value or nil
end)

local function one_of(...)
  local words = { ... }
  return option_table.check(("one of %s"):format(table.concat(words, ", ")), function(value)
    for _, word in ipairs(words) do
      if value == word then return word end
    end
  end)
end

local PARTS = { "key", "keep", "where", "time" }
local SIDE = {}
for _, part in ipairs(PARTS) do SIDE[part] = check_function end

local OPTIONS = {
  from = option_table.check("a table", function(value) return type(value) == "table" and value or nil end),
  wins = one_of("newest", "oldest", "nested", "all"), stays = option_table.boolean, max = option_table.positive,
  timeout = text.duration, exit = one_of("thread", "process"),
}
OPTIONS.to, OPTIONS.via = OPTIONS.from, OPTIONS.from

-- A side as the script has GIVEN it: { spec, key = …, and options of its probe }. WHERE is what messages call it, NAME
-- what handlers do.
local function side_of(where, name, given)
  if type(given) ~= "table" or type(given[1]) ~= "string" and type(given[1]) ~= "table" then
    error(("span.new: %s is a probe and its key: { \"usdt:app:queued\", key = function(e) return e.arg0 end }")
      :format(where), 4)
  end
  local parts, options = {}, {}
  for option, value in pairs(option_table.named(given)) do (SIDE[option] and parts or options)[option] = value end
  local side = option_table.read(("span.new: %s"):format(where), parts, SIDE, 4)
  if not side.key then
    error(("span.new: %s has no key, a function of the event that tells which begin an end belongs to"):format(where),
      4)
  end
  side[1], side.name, side.options = given[1], name, options
  return side
end

-- What stands for from, to or one of via: one side, or a list of them, { { spec, key = … }, … }.
local function sides_of(where, name, given)
  local one = type(given) ~= "table" or given.key or type(given[1]) ~= "table" or type(given[1][1]) == "string" and
    not given[1].key
  local list = {}
  for i, side in ipairs(one and { given } or given) do list[i] = side_of(where, ("%s%d"):format(name, i), side) end
  return list
end

-- True if KEY returns the event's FIELD, a number, and nothing else.
local function is_field(key, field)
  local mark = {}
  local event = setmetatable({}, { __index = function(_, name) return name == field and mark or nil end })
  local ok, value = pcall(key, event)
  return ok and rawequal(value, mark)
end

local function read(given)
  local spec = option_table.read("span.new", given, OPTIONS, 3)
  for _, name in ipairs { "from", "to" } do
    if not spec[name] then error(("span.new: where does it %s? Give %s = { SPEC, key = … }")
      :format(name == "from" and "begin" or "end", name), 3) end
    spec[name] = sides_of(name, name, spec[name])
  end
  local via = {}
  for i, side in ipairs(spec.via or {}) do via[i] = sides_of("via " .. i, ("via%d_"):format(i), side) end
  spec.via, spec.wins, spec.by_number = via, spec.wins or "newest", true
  if spec.stays and handlers.nests(spec.wins) then
    error("span.new: a begin that stays does not nest: leave out stays, or wins", 3)
  end
  for _, sides in ipairs { spec.from, spec.to } do
    for _, side in ipairs(sides) do spec.has_time = spec.has_time or side.time ~= nil end
  end
  if spec.timeout and spec.has_time then
    error("span.new: a timeout is by the kernel's clock: leave it out, or time", 3)
  end
  for _, side in ipairs(spec.from) do
    spec.by_number = spec.by_number and is_field(side.key, spec.exit == "process" and "pid" or "tid")
  end
  return spec
end

-- The places of programs where HANDLE, a probe's, stands, as texts; a function's entry is not its return.
local function places_of(handle)
  local list = {}
  for _, record in ipairs(handle.records) do
    for _, site in ipairs(record.sites and record.sites:list() or {}) do
      local where = record.provider.of_return and "the return of %s+%#x" or "%s+%#x"
      list[#list + 1] = where:format(site.path, tonumber(site.offset))
    end
  end
  return list
end

-- Raises that two of PROBES, of which one begins and the other ends spans, stand at one place of a program: which of
-- them sees a hit first is not known. (Where they are spelled in the same way, they are one probe.)
local function refuse_one_place(probes)
  local begins = {}
  for _, one in ipairs(probes) do
    for _, place in ipairs(one.begins and places_of(one.handle) or {}) do begins[place] = one.handle.spec end
  end
  for _, one in ipairs(probes) do
    for _, place in ipairs(one.ends and not one.begins and places_of(one.handle) or {}) do
      if begins[place] then
        failure.mistake(("span: %s and %s stand at one place, %s: write both in the same way; a hit then ends a span "
          .. "and begins the next"):format(begins[place], one.handle.spec, place))
      end
    end
  end
end

local Span = {}
Span.__index = Span

local function nothing() end

-- What the handlers of SPEC know by name, and DONE.
local function globals_of(spec, kept, done)
  local globals = { up = require "uplua", done = done, names = kept.names }
  for name, object in pairs(kept) do globals[kept.names[name] or name] = object end
  local function add(sides)
    for _, side in ipairs(sides) do
      for _, part in ipairs(PARTS) do globals[("%s_%s"):format(side.name, part)] = side[part] end
    end
  end
  add(spec.from)
  add(spec.to)
  for _, sides in ipairs(spec.via) do add(sides) end
  return globals
end

-- new(options) → a span. Options: from and to, where it begins and ends, of any kinds of probes: { spec, key =, keep =,
-- where =, time =, and options of the probe }, or a list of such; via, a list of such, what it may pass on its way;
-- wins, which of several begins of a key an end belongs to: "newest" (without it), "oldest", "nested", the newest that
-- is still open, or "all"; stays, an end leaves the begin open, for more ends; max, so many are open at one time;
-- timeout, what takes longer is given up; exit, "thread" or "process": what those have begun is given up when they
-- exit.
function span.new(given)
  local spec = read(given)
  local self = setmetatable({ spec = spec, name = counts.name_of(spec), probes = {} }, Span)
  self.kept = counts.declare(spec)
  self.nests = handlers.nests(spec.wins)
  self.globals = globals_of(spec, self.kept, capture.inlined(nothing))
  for i, one in ipairs(handlers.make(spec, self.globals)) do
    self.probes[i] = { handle = probe.probe(one[1], one.options, one.handler), begins = one.begins, ends = one.ends }
  end
  refuse_one_place(self.probes)
  slow.watch(self)
  counts.watch(self)
  return self
end

-- Puts handlers with DONE in the place of those that are loaded.
local function replace(self, done)
  local globals = globals_of(self.spec, self.kept, done)
  for i, one in ipairs(handlers.make(self.spec, globals)) do
    if one.ends then self.probes[i].handle:replace(one.handler) end
  end
  self.globals = globals
end

local function is_loaded(self)
  for _, one in ipairs(self.probes) do
    if one.ends and one.handle.status ~= "declared" then return true end
  end
  return false
end

-- done(fn): FN is a handler's part: it runs in the kernel for each span that has ended, with { key, elapsed, from, via,
-- to }.
function Span:done(fn)
  if type(fn) ~= "function" then error("done: a function is expected, not " .. text.shown(fn), 2) end
  local before, both = self.has_done and self.globals.done, fn
  if before then
    both = capture.inlined(function(s)
      before(s)
      fn(s)
    end)
  end
  if is_loaded(self) then replace(self, both) else self.globals.done = both end
  self.has_done = true
end

-- slow(than, [options], fn): calls FN in the script for each span that took at least THAN ("10ms", or ns). Options:
-- window, what else is to be known of it, s.events and s.missing (uplua.span.window); size, of the ring.
function Span:slow(than, options, fn)
  options, fn = option_table.split(options, fn)
  slow.deliver(self, than, options, fn)
end

-- times(): has the kernel add up how long spans take, and each part of their way. Returns a function that returns what
-- has ended since it was called last, as rows (uplua.span.times).
function Span:times() return times.measure(self) end

-- line(s): S, one that slow() has given, as a row for a stream and lines below it (uplua.span.lines).
function Span.line(_, s) return lines.of(s) end

-- counts(): how many began, ended, …, by name (uplua.span.counts).
function Span:counts() return counts.read(self) end

-- open([n]): the N that have been open for longest (all), the oldest first: { key, age, from, via } each.
function Span:open(n) return counts.open(self, n) end

-- tostring: the counts as a text for people.
function Span:__tostring() return counts.text(self) end

return span
