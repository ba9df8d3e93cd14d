-- recorder: what has happened last, kept by handlers in the kernel and looked at only when somebody wants to know.
--
--   local r = recorder.new { size = "1M" }              so much for each CPU; the oldest is overwritten
--   handlers: r:emit { pid = e.pid }
--   for time, record in r:between(first, last) do … end in order of time
--
-- Nobody is woken by what is emitted. A record has the time at which it was emitted, by e.time's clock.
local ffi = require "ffi"
local contract = require "uplua.contract"
local layout = require "uplua.objects.layout"
local map = require "uplua.base.map"
local object = require "uplua.objects.object"
local option_table = require "uplua.base.option_table"
local text = require "uplua.base.text"

local C = contract.C
local HEAD, TIME = contract.RECORDER_SLOT_HEAD, contract.RECORDER_TIME
local TAGS = 2 ^ contract.RECORDER_TAG_BITS
local recorder, methods = {}, {}
local state_of = object.state

function methods:emit() error(("%s:emit() is for handlers"):format(self.name or "recorder"), 2) end

function methods:bind(description)
  local s = state_of(self)
  if not s.recorder then
    local m = map.open(description.fd)
    s.cpus, s.slot_size = m.max_entries, description.slot_size
    s.recorder = C.recorder_open(description.fd, s.cpus, m.value_size, s.slot_size)
    if s.recorder == nil then
      error(("%s: cannot map the recorder: %s"):format(self.name or "recorder", map.reason(-ffi.errno())), 0)
    end
    s.found = ffi.new "struct uplua_recorder_read"
    s.slots = ffi.new("uint8_t[?]", C.recorder_slots(s.recorder) * s.slot_size)
    s.found.slots = s.slots
  end
  s.codecs = {}
  for tag, variant in pairs(description.variants) do s.codecs[tag] = layout.compile(variant) end
end

local function in_order(a, b) return a.time < b.time end

-- Adds to LIST what CPU has recorded between FIRST and LAST, and to MISSING the stretch of time in which something may
-- be missing.
local function read(s, cpu, first, last, list, missing)
  local found = s.found
  C.recorder_read(s.recorder, cpu, first, last, found)
  if found.missing_last > 0 then
    missing[#missing + 1] = { cpu = cpu, from = tonumber(found.missing_first), to = tonumber(found.missing_last) }
  end
  for i = 0, tonumber(found.count) - 1 do
    local slot = s.slots + i * s.slot_size
    local words = ffi.cast("const uint64_t *", slot)
    local codec = s.codecs[tonumber(words[0] % TAGS)]
    list[#list + 1] = { time = tonumber(words[TIME / 8]), cpu = cpu, record = codec.decode(slot + HEAD) }
  end
end

-- between(first, last, [cpus]): what was emitted between these times, in order of time: a list of { time, cpu,
-- record }; and the stretches in which something may be missing, since it was overwritten or is being written: a list
-- of { cpu, from, to }. CPUS: on these alone, { [cpu] = true }.
function methods:between(first, last, cpus)
  local s, list, missing = state_of(self), {}, {}
  for cpu = 0, s.recorder and s.cpus - 1 or -1 do
    if not cpus or cpus[cpu] then read(s, cpu, first, last, list, missing) end
  end
  table.sort(list, in_order)
  return list, missing
end

local metatable = {
  __index = methods,
  __newindex = function() error("a recorder has no fields", 2) end,
  __tostring = function(o) return ("recorder of %s bytes for each CPU"):format(text.thousands(o.options.size)) end,
}

-- new([options]): size, so many bytes are kept for each CPU ("1M").
function recorder.new(given)
  local options = option_table.read("recorder", given, { size = text.size }, 2)
  options.size = options.size or 2 ^ 20
  return object.new("recorder", options, metatable, {})
end

return recorder
