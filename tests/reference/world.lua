-- What a handler works on, kept in Lua tables: maps, aggregations, vars, rings, memory and the ledger, by the rules of
-- doc/handlers.md. The interpreter of this folder acts on it, and so does the same handler when LuaJIT runs it
-- (plain.lua).
--
--   local w = world.new(fail)   fail(what) ends the handler with an error and does not return
--   w:constructors()            up.hash, up.count …
--   w:count(what)               one more loss in the ledger, at the place that runs, w.at()
--   w:snapshot(objects)         all that a run has left, as text
local ffi = require "ffi"
local buffer = require "uplua.objects.buffer"
local numbers = require "numbers"

local world = {}
world.__index = world

local int64, uint64, istype = ffi.typeof "int64_t", ffi.typeof "uint64_t", ffi.istype

-- What memory makes of a value: integers are signed and have 64 bits, records are copied.
local function stored(v)
  if numbers.is_number(v) then return numbers.i64(v) end
  if type(v) ~= "table" then return v end
  local copy = {}
  for name, field in pairs(v) do copy[name] = stored(field) end
  return copy
end
world.stored = stored

-- A value as text, the same for equal values: what a key is found by, and what snapshots are made of.
local function show(v)
  if numbers.is_number(v) then return (tostring(numbers.i64(v)):gsub("LL$", "")) end
  if type(v) == "string" then return ("%q"):format(v) end
  if buffer.is(v) then return ("%q of %s"):format(v:bytes(), tostring(v.size)) end
  if type(v) ~= "table" then return tostring(v) end
  local fields = {}
  for name, field in pairs(v) do fields[#fields + 1] = ("%s=%s"):format(name, show(field)) end
  table.sort(fields)
  return "{" .. table.concat(fields, " ") .. "}"
end
world.show = show

function world.new(fail)
  return setmetatable({ fail = fail, ledger = {}, at = function() return "?" end }, world)
end

function world:count(what)
  local loss = what .. " " .. self.at()
  self.ledger[loss] = (self.ledger[loss] or 0) + 1
end

-- --- Maps ---

-- The entry of KEY, or nil; an error where the key is nil.
local function entry_of(w, map, key)
  if key == nil then w.fail "a key that is nil" end
  return map.entries[show(key)]
end

-- Whether KEY has a buffer of which a part only was kept.
local function is_cut(key)
  if buffer.is(key) then return key.size > #key:bytes() end
  for _, field in pairs(type(key) == "table" and key or {}) do
    if is_cut(field) then return true end
  end
  return false
end

-- What is read of a record is a reference: writing to its fields writes into the map.
function world:get(map, key)
  local entry = entry_of(self, map, key)
  return entry and entry.value
end

function world:set(map, key, value)
  local entry = entry_of(self, map, key)
  if value ~= nil and is_cut(key) then self:count "cut" end
  if value == nil then
    if entry then map.entries[show(key)], map.size = nil, map.size - 1 end
  elseif entry then
    map.entries[show(key)] = { key = entry.key, value = stored(value), given = value }
  elseif map.size >= map.max then
    self:count "full"
  else
    map.entries[show(key)], map.size = { key = stored(key), value = stored(value), given = value }, map.size + 1
  end
end

-- --- Aggregations ---

-- A value of an aggregation as text: unlike in memory, unsigned ones are. A number is a rounded sum where it is beyond
-- 64 bits.
local function show_value(v)
  if v == nil then return "nil" end
  if type(v) == "number" then return (math.abs(v) < 2 ^ 63 and "%.0f" or "about %.12g"):format(v) end
  return (tostring(v):gsub("U?LL$", ""))
end

-- Whether A is less than B, each signed or unsigned.
local function is_less(a, b)
  if istype(int64, a) and a < 0 then return not (istype(int64, b) and b <= a) end
  if istype(int64, b) and b < 0 then return false end
  return ffi.cast(uint64, a) < ffi.cast(uint64, b)
end

-- Sums are kept as two numbers, of the upper and of the lower 32 bits of all values: both stay exact up to 2^21 values.
local function add_to_sum(parts, v)
  parts[1] = parts[1] + tonumber((istype(uint64, v) and bit.rshift or bit.arshift)(v, 32))
  parts[2] = parts[2] + tonumber(bit.band(v, 0xffffffffLL))
end

local function show_sum(total)
  if total.sum then return show_value(total.sum) end
  local low = total.parts[2] % 2 ^ 32
  local high = total.parts[1] + (total.parts[2] - low) / 2 ^ 32
  if high < -2 ^ 31 or high >= 2 ^ 32 then return ("about %.12g"):format(high * 2 ^ 32 + low) end
  local integer = high < 0 and int64 or uint64
  return show_value(integer(high) * integer(2 ^ 32) + integer(low))
end

-- The least value of the bucket that V falls into, false for those without one; by kind of histogram.
local lowest = {}

function lowest.hist(_, v)
  if v < 1 then return v == 0 and v end
  local low = v / v
  while v / low >= 2 do low = low * 2 end
  return low
end

-- lhist(low, high, step): equal steps; what is HIGH or more is in one bucket.
function lowest.lhist(o, v)
  if istype(uint64, v) and v >= 2 ^ 63 then return o.high end
  v = int64(v)
  if v < o.low then return false end
  return v < o.high and v - (v - o.low) % o.step or o.high
end

-- hdr(digits): exact up to twice the least power of two that is 10^digits, from there on in steps that double with the
-- values.
function lowest.hdr(o, v)
  if v < 0 then return false end
  local half, width = 1, int64(1)
  while half < 10 ^ o.digits do half = half * 2 end
  while v / width >= 2 * half do width = width * 2 end
  return v - v % width
end

-- A bucket as text, by its least value.
function world.show_bucket(low)
  if type(low) == "number" then return ("%.0f"):format(low) end
  return low and show_value(low) or "open"
end

local function add_to_total(o, total, v)
  if not istype(uint64, v) then v = numbers.i64(v) end
  total.count = total.count + 1
  add_to_sum(total.parts, v)
  if not total.min or is_less(v, total.min) then total.min = v end
  if not total.max or is_less(total.max, v) then total.max = v end
  if not lowest[o.kind] then return end
  local bucket = world.show_bucket(lowest[o.kind](o, v))
  total.buckets[bucket] = (total.buckets[bucket] or 0) + 1
end

local function new_total() return { count = 0, parts = { 0, 0 }, buckets = {} } end

world.new_total = new_total

-- object:add(v), and with a key object[key]:add(v); inc() adds 1.
function world:add(object, v, keyed, key)
  if v == nil then self.fail "arithmetic on nil" end
  local total = object.total
  if keyed then
    local entry = entry_of(self, object, key)
    if is_cut(key) then self:count "cut" end
    if not entry then
      if object.size >= object.max then return self:count "full" end
      entry = { key = stored(key), value = new_total() }
      object.entries[show(key)], object.size = entry, object.size + 1
    end
    total = entry.value
  end
  add_to_total(object, total, v)
end

-- --- Vars and rings ---

function world:var_set(var, v)
  if v == nil then self.fail "arithmetic on nil" end
  var.value = numbers.is_number(v) and var.cast(v) or v
end

function world:var_add(var, v)
  if v == nil then self.fail "arithmetic on nil" end
  var.value = var.cast(var.value + numbers.i64(v))
end

function world:emit(ring, record)
  if record == nil then self.fail "emitting nil" end
  ring.emitted[#ring.emitted + 1] = show(stored(record))
  return true
end

function world:copy(record)
  if record == nil then self.fail "copying nil" end
  return stored(record)
end

-- Memory that handlers may read: from world.memory on, at the same address in every process, so that a run can be
-- repeated.

local MEMORY, MEMORY_SIZE = 0x30000000, 4096
ffi.cdef "void *mmap(void *address, size_t length, int protection, int flags, int fd, long offset);"
local PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS_FIXED_NOREPLACE = 3, 0x100022
world.memory = ffi.cast("uint8_t *", ffi.C.mmap(ffi.cast("void *", MEMORY), MEMORY_SIZE, PROT_READ_WRITE,
  MAP_PRIVATE_ANONYMOUS_FIXED_NOREPLACE, -1, 0))
assert(ffi.cast("uintptr_t", world.memory) == MEMORY, "the memory of the tests is taken")
for i = 0, MEMORY_SIZE - 1 do world.memory[i] = i * 37 % 251 end

-- up.read_u8(address) … of NAME ("u8"): nil, and counted, where it cannot be read.
function world:read(name, address)
  if address == nil then self.fail "arithmetic on nil" end
  local place = ffi.cast(uint64, numbers.i64(address)) - MEMORY
  local size = tonumber(name:match "%d+") / 8
  if place > MEMORY_SIZE - size then return self:count "unreadable" end
  local pointer = ffi.typeof((name:sub(1, 1) == "u" and "uint%d_t *" or "int%d_t *"):format(size * 8))
  local value = ffi.cast(pointer, world.memory + place)[0]
  return name == "u64" and ffi.cast(uint64, value) or numbers.i64(value)
end

-- up.buf(address, size, most)
function world:buffer(address, size, most)
  if size == nil then self.fail "arithmetic on nil" end
  if address == nil then return nil end
  if not istype(uint64, size) and size < 0 then return self:count "negative" end
  most = most or type(size) == "number" and size >= 1 and size <= 8192 and size or 64
  local full = ffi.cast(uint64, istype(uint64, size) and size or numbers.i64(size))
  local kept, place = full > most and most or tonumber(full), ffi.cast(uint64, numbers.i64(address)) - MEMORY
  if kept > 0 and (place > MEMORY_SIZE or place + kept > MEMORY_SIZE) then return self:count "unreadable" end
  if kept == 0 then place = 0 end
  return buffer.of(ffi.string(self.memory + place, kept), full <= 2 ^ 53 and tonumber(full) or full)
end

-- --- The constructors, and what a snapshot shows ---

-- The fields of an object are raw, also where METATABLE lets LuaJIT's own code at it. The chunk's main part may call
-- map:set.
function world:constructors(metatable)
  local up = {}
  local function object(o)
    o.object = true
    return setmetatable(o, metatable)
  end
  local function map(kind)
    up[kind] = function(options)
      local set = function(map, key, value) self:set(map, key, value) end
      return object { kind = kind, entries = {}, size = 0, max = options and options.max or 65536, set = set }
    end
  end
  local function aggregation(kind, ...)
    local parameters = { ... }
    up[kind] = function(...)
      local o, options = { kind = kind, entries = {}, size = 0, total = new_total() }, (select(#parameters + 1, ...))
      for i, name in ipairs(parameters) do o[name] = (select(i, ...)) end
      o.max = options and options.max or 65536
      return object(o)
    end
  end
  map "hash" map "percpu_hash"
  for _, kind in ipairs { "count", "sum", "min", "max", "stats", "hist" } do aggregation(kind) end
  aggregation("lhist", "low", "high", "step")
  aggregation("hdr", "digits")
  function up.var(initial, type)
    local cast = numbers.cast[type or numbers.is_u64(initial) and "u64" or "i64"]
    return object { kind = "var", cast = cast, value = numbers.is_number(initial) and cast(initial) or initial }
  end
  function up.ring() return object { kind = "ring", emitted = {} } end
  return up
end

-- What the script sees of a total.
local function show_total(o, total)
  if o.kind == "count" or o.kind == "sum" then return show_sum(total) end
  if o.kind == "min" or o.kind == "max" then return show_value(total[o.kind]) end
  local buckets = {}
  for bucket, count in pairs(total.buckets) do buckets[#buckets + 1] = ("%s:%d"):format(bucket, count) end
  table.sort(buckets)
  return ("count %d sum %s min %s max %s %s"):format(total.count, show_sum(total), show_value(total.min),
    show_value(total.max), table.concat(buckets, " "))
end

-- A line for each thing that OBJECTS (name → object) hold, then the ledger; sorted, but for what a ring holds.
function world:snapshot(objects)
  local lines, events = {}, {}
  local function put(...) lines[#lines + 1] = (...):format(select(2, ...)) end
  for name, o in pairs(objects) do
    local total = rawget(o, "total")
    for key, entry in pairs(rawget(o, "entries") or {}) do
      put("%s[%s] = %s", name, key, total and show_total(o, entry.value) or name:find "u$" and show_value(entry.given)
        or show(entry.value))
    end
    if total and show_total(o, total) ~= show_total(o, new_total()) then put("%s = %s", name, show_total(o, total)) end
    if o.kind == "var" then put("%s = %s", name, show(o.value)) end
    for i, record in ipairs(rawget(o, "emitted") or {}) do
      events[#events + 1] = ("%s %04d %s"):format(name, i, record)
    end
  end
  for loss, times in pairs(self.ledger) do put("lost %s × %d", loss, times) end
  table.sort(lines)
  table.sort(events)
  return table.concat(lines, "\n") .. "\n" .. table.concat(events, "\n")
end

return world
