-- ring: records that handlers emit, in order, and that the script walks where they lie.
--   local r = up.ring { size = "4M" }             handlers: r:emit { pid = e.pid, ns = e.elapsed }
--   up.ring { delay = "10ms" }                    is read at most each 10 ms; each 2 ms by default
--   r:each(function(ev) print(ev.pid) end)        called for each record while the script runs
--   r:poll("1s", fn)                              waits and calls fn for what has come: for scripts with a loop of
--                                                 their own
-- ev is a view of the record in the ring: nothing is allocated per event, and it is valid until fn returns; up.copy(ev)
-- keeps it. A field that this record's emit did not name is nil.
local ffi = require "ffi"
local contract = require "uplua.contract"
local core = require "uplua.core".loop
local layout = require "uplua.objects.layout"
local map = require "uplua.base.map"
local loop = require "uplua.base.loop"
local merge = require "uplua.objects.merge"
local object = require "uplua.objects.object"
local option_table = require "uplua.base.option_table"
local pace = require "uplua.objects.pace"
local run = require "uplua.base.run"
local text = require "uplua.base.text"

local C = contract.C
local state_of = object.state
local methods = {}

-- The walk over one batch, made anew for each ring so that its callback's traces are its own. `s.at` moves on before
-- the callback is called: if that raises an error, the record is done with.
local WALK = [[
local s, data, codecs, views, sizes, plain = ...
local head = plain and 8 or 16 -- of a record: the ring's own, and that which says its tag
local tags = 2 ^ require("uplua.contract").RING_TAG_BITS - 1
local cast, band = require("ffi").cast, bit.band
local words = require("ffi").typeof "const uint32_t *"
local DISCARDED = 0x40000000
return function(fn, stop)
  local seen = 0
  while s.at < stop do
    local p = data + s.at
    local length = cast(words, p)[0]
    s.at = s.at + band(band(length, 0x3fffffff) + 15, -8)
    if length < DISCARDED then
      local tag = plain and 0 or band(cast(words, p + 8)[0], tags) -- the time is above it (bpf/timed.h)
      local view = views[tag]
      if view and length >= sizes[tag] then
        local codec = codecs[tag]
        codec.point(view, p + head)
        fn(view)
        codec.unpoint(view)
        seen = seen + 1
      else
        s.unknown = s.unknown + 1
      end
    end
  end
  return seen
end
]]

local begin, finish = ffi.new "uint64_t[1]", ffi.new "uint64_t[1]"

-- Gives back to the kernel what has been walked.
local function release(s)
  if s.ring and s.at > s.start then
    C.ring_release(s.ring, s.begin + (s.at - s.start))
    s.begin, s.start = s.begin + (s.at - s.start), s.at
  end
end

-- Walks what is complete now, MOST bytes of it. Returns the number of records that FN has seen, and false where there
-- was none at all.
local function batch(s, fn, most)
  s.last = core.now()
  release(s) -- of a callback that raised an error
  local count = C.ring_batch(s.ring, most, begin, finish)
  if count == 0 then return 0, false end
  local length = tonumber(finish[0] - begin[0])
  s.begin = begin[0]
  s.start = tonumber(begin[0] % s.size)
  s.at = s.start
  local seen = s.walk(fn, s.start + length)
  release(s)
  return seen, true
end

local function check_function(name, fn, level)
  if type(fn) ~= "function" then error(("%s: a function is expected, not a %s"):format(name, type(fn)), level + 1) end
end

-- Rings are watched only while somebody reads them: a ready one that nobody reads would keep the loop awake.
local function watch(s)
  if s.ring and s.fn and not s.watched then
    s.watched = true
    if s.timed then merge.add(s) end
    -- One part of the ring per turn of the loop: a busy ring must not keep timers and signals waiting, and what is done
    -- with makes room. What is left is read in the next.
    pace.watch(s, function()
      if not s.watched then return false end
      if s.timed then
        merge.read()
        if s.after then s.after() end
        return s.watched
      end
      s.watched = false -- the loop watches no longer if the callback raises an error; another each() may begin anew
      local _, any = batch(s, s.fn, s.size / contract.RING_PARTS)
      s.watched = true
      if s.after then s.after() end
      return any
    end)
  end
end

local own = run.part(function()
  return { untimed = nil } -- the ring whose records have no time, since it was the only one when it was made
end)

-- What O is to messages.
local function called(o)
  if o.kind ~= "ring" then return "what handlers print" end
  return o.name and ("the ring '%s'"):format(o.name) or "a ring"
end

-- Says that O, a ring of the state S that is new, is in no order with one that is there, whose handlers run already.
local function check_order(o, s)
  local mine = own()
  if not s.ordered then return end
  if mine.untimed and object.state(mine.untimed).watched then
    loop.warn(("%s and %s are in no order of time: the handlers of one were loaded before there was the other. Make "
      .. "both before, make the first with order = true, or say order = false"):format(called(mine.untimed), called(o)))
  end
  if not s.timed then mine.untimed = o end
end

-- Calls FN with each record from now on; a later call replaces it.
function methods:each(fn)
  check_function("each", fn, 2)
  local s = state_of(self)
  s.fn = fn
  watch(s)
end

-- Waits up to TIMEOUT ("100ms", or ns) for a record, and for more until the ring is to be read; calls FN with each that
-- has come. Returns their number.
function methods:poll(timeout, fn)
  local ns, message = text.wait(timeout)
  if not ns then error("poll: " .. message, 2) end
  local s = state_of(self)
  fn = fn or s.fn
  check_function("poll", fn, 2)
  if not s.ring then return 0 end
  if ns > 0 then pace.wait(s, core.now() + ns / 1e9) end
  return (batch(s, fn, s.size))
end

-- Walks all that is left, except for a callback that has failed: it would fail again.
function methods:drain()
  local s = state_of(self)
  if not s.watched then return end
  if s.timed then
    merge.drain()
  else
    repeat
      local _, any = batch(s, s.fn, s.size)
    until not any
  end
  if s.after then s.after() end
end

function methods:emit() error(("%s:emit() is for handlers"):format(state_of(self) and self.name or "ring"), 2) end

function methods:bind(description)
  local s = state_of(self)
  if not s.ring then
    local m = map.open(description.fd)
    s.fd, s.size = description.fd, m.max_entries
    local ring = C.ring_open(s.fd, s.size)
    if ring == nil then
      error(("%s: cannot map the ring of %d bytes: %s")
        :format(self.name or "ring", s.size, map.reason(-ffi.errno())), 0)
    end
    s.ring, s.timed = ring, description.timed
    check_order(self, s)
  end
  local codecs, views, sizes = {}, {}, {}
  for tag, variant in pairs(description.variants or {}) do
    local codec = layout.compile(variant)
    codecs[tag], views[tag], sizes[tag] = codec, codec.view(), (s.plain and 0 or 8) + codec.size
  end
  s.views = views
  s.walk = assert(loadstring(WALK, "@uplua/ring (walk)"))(s, C.ring_data(s.ring), codecs, views, sizes, s.plain)
  watch(s)
end

local metatable = {
  __index = methods,
  __newindex = function() error("a ring has no fields", 2) end,
  __tostring = function(o) return ("ring of %s bytes"):format(text.thousands(o.options.size)) end,
}

-- "4M" or a number → a power of two of whole pages.
local function ring_size(value)
  local size, message = text.size(value)
  if not size then return nil, message end
  if size < 1 or size > 2 ^ 30 then return nil, ("'%s' is not from 4K to 1G"):format(tostring(value)) end
  local rounded = 4096
  while rounded < size do rounded = rounded * 2 end
  return rounded
end

return {
  methods = methods, -- for uplua.objects.output, which is a ring too

  -- Drains every ring, in the order in which they were made. For the end of the run, once the probes are detached.
  drain = function()
    for _, list in ipairs { object.all(), object.guests() } do
      for _, o in ipairs(list) do
        if o.kind == "ring" then o:drain() end
      end
    end
  end,

  -- The object for a ring of SIZE bytes, called NAME, that a BPF object brings along.
  guest = function(name, size)
    return object.guest("ring", name, { size = size }, metatable, pace.state(0, { plain = true }))
  end,

  ring = function(options)
    local known = { size = ring_size, delay = text.wait, order = option_table.boolean, option = option_table.text }
    options = option_table.read("ring", options, known, 2)
    options.size = options.size or 2 ^ 22
    -- One with a delay of its own stands for itself, unless it asks for an order.
    local ordered = options.order or options.order == nil and not options.delay
    local state = pace.state(options.delay or pace.DELAY, { ordered = ordered })
    return object.new("ring", options, metatable, state)
  end,
}
