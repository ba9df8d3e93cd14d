-- The common part of the aggregations: per-CPU values that handlers add to, and that the script reads as totals. How a
-- kind of them keeps apart what was added since the last take is in uplua.objects.count and
-- uplua.objects.double_buffer.
local ffi = require "ffi"
local declared_type = require "uplua.objects.declared_type"
local layout = require "uplua.objects.layout"
local map = require "uplua.base.map"
local object = require "uplua.objects.object"
local option_table = require "uplua.base.option_table"
local store = require "uplua.objects.store"
local snapshot = require "uplua.objects.snapshot"
local int128 = require "uplua.objects.int128"
local text = require "uplua.base.text"

local aggregate = {}
local state_of = object.state

-- The operations that differ by kind of aggregation:
--   keeping                     that of uplua.objects.count, or uplua.objects.double_buffer
--   merge(s, p, cpus, stride)   what one element holds on all CPUs together: a part; nil if there is nothing
--   join(a, b)                  two parts of one element
--   minus(part, earlier)        what was added to a part since an earlier state of it; nil if nothing
--   together(a, b)              two totals as one, a new one
--   add(s, total, part, stretch)  the total of a key (nil at first) with another of its parts
--   mark(total)                 what is another one once something was added
--   value(s, total)             as the script sees it; nil if that is nothing
--   zero(s)                     the value of what was never added to
--   empty                       how an object prints that no handler uses
--   by                          what entries are ordered by (nil: the value)

local function called(o) return state_of(o) and (o.name or o.kind) end

-- The VALUE of the raw key RAW, which the script is about to see: the ledger has to say which sums are rounded.
local function seen(s, raw, value)
  local sum = type(value) == "table" and value.sum or value
  if int128.is_rounded(sum) then s.rounded[raw] = true end
  return value
end

-- How many sums of the aggregation O the script has seen rounded, since 64 bits had no room for them.
function aggregate.rounded(o)
  local n = 0
  for _ in pairs(state_of(o).rounded or {}) do n = n + 1 end
  return n
end

-- What a snapshot is made from: VISIT(raw key, total) adds the total of a key, in lists KEYS and VALUES. Those of keys
-- that are equal in Lua are one: the addresses of a function.
local function merging(s, keys, totals)
  local place = {}
  return function(raw, total)
    local key = s.key.decode(ffi.cast("const uint8_t *", raw))
    local name = store.canonical(key)
    local at = place[name]
    if at then
      totals[at] = s.operations.together(totals[at], total)
    else
      at = #keys + 1
      place[name], keys[at], totals[at] = at, key, total
    end
  end
end

local function look_merged(o, take)
  local s = state_of(o)
  local keys, totals, shown, values = {}, {}, {}, {}
  s.operations.keeping.read(s, take or false, merging(s, keys, totals))
  for i, total in ipairs(totals) do
    local value = seen(s, store.canonical(keys[i]), s.operations.value(s, total))
    if value ~= nil then shown[#shown + 1], values[#values + 1] = keys[i], value end
  end
  return snapshot.keyed(shown, values, s.operations.zero(s), s.operations.by, s.unit, aggregate.rest(o) or nil)
end

local function look(o, take)
  local s = state_of(o)
  local operations = s.operations
  rawset(o, "read", true)
  local keys, values = {}, {}
  if s.key and s.key.merges then return look_merged(o, take) end
  if s.map then
    operations.keeping.read(s, take or false, function(raw, total)
      local value = seen(s, raw, operations.value(s, total))
      if value == nil then return end
      values[#values + 1] = value
      if s.key then keys[#values] = s.key.decode(ffi.cast("const uint8_t *", raw)) end
    end)
    if s.key then
      return snapshot.keyed(keys, values, operations.zero(s), operations.by, s.unit, aggregate.rest(o) or nil)
    end
  end
  if values[1] == nil then values[1] = operations.zero(s) end
  return snapshot.single(values[1], s.unit)
end

local function get(o, key, level)
  local s = state_of(o)
  rawset(o, "read", true)
  if not s.map then return s.operations.zero(s) end
  if not s.key then
    if key ~= nil then
      error(("%s has no keys: its handlers add to it as a whole; use :get()"):format(called(o)), level + 1)
    end
    return look(o):get()
  end
  if key == nil then error(("%s is keyed: use %s[key] or :pairs()"):format(called(o), o.name or "it"), level + 1) end
  if s.key.merges then return look(o):get(key) end
  local why = s.key.encode(s.key_bytes, key)
  if why and layout.is_too_much(why) then return s.operations.zero(s) end
  if why then error(("%s: as a key, %s"):format(called(o), why), level + 1) end
  local total = s.operations.keeping.find(s)
  if total == nil and map.may_be_cut(key) and not s.key.encode(s.key_bytes, key, true) then
    total = s.operations.keeping.find(s)
  end
  if total == nil then return s.operations.zero(s) end
  return seen(s, ffi.string(s.key_bytes, s.suffix or s.map.key_size), s.operations.value(s, total))
end

-- O is a module's own, which tells of it itself.
function aggregate.keep_quiet(o)
  rawset(o, "read", true)
  return o
end

-- What S prints as that nobody has added to.
local function empty_of(s)
  local empty = s.operations.empty
  return empty == "0" and text.quantity(0, s.unit) or empty
end

-- Those aggregations that handlers have added to, and that the script has not looked at: object → as it prints.
function aggregate.unread()
  local texts = {}
  for _, o in ipairs(object.all()) do
    local s = state_of(o)
    if s.operations and s.map and not rawget(o, "read") then
      local shown = tostring(o)
      if shown ~= empty_of(s) then texts[o] = shown end
    end
  end
  return texts
end

local methods = {}

-- The total: of KEY, or of an unkeyed aggregation.
function methods:get(key) return (get(self, key, 2)) end

-- Iterates over keys and totals, in no order.
function methods:pairs() return look(self):pairs() end

-- Iterates over the N largest, largest first; BY is a field's name or a function of value and key.
function methods:top(n, by)
  local keys_and_values = look(self)
  return keys_and_values:top(n, by)
end

-- The number of keys.
function methods:size() return look(self):size() end

-- A snapshot of what there is; the aggregation starts anew, and no increment is lost between the two.
function methods:take() return look(self, true) end

-- A take thrown away.
function methods:clear() look(self, true) end

local function only_in_handlers(name)
  return function(o)
    error(("%s:%s() is for handlers; a script that counts for itself needs only a variable"):format(called(o), name), 2)
  end
end
methods.inc, methods.add = only_in_handlers "inc", only_in_handlers "add"

-- DESCRIPTION: doc/internals.md. An aggregation may be bound again, by a later setup whose handlers add to it too.
function methods:bind(description)
  local s = state_of(self)
  if not s.map or s.fd ~= description.fd then
    s.fd = description.fd
    s.map = map.open(description.fd)
    s.spill = description.spill and map.open(description.spill)
    s.overflow = description.overflow and map.open(description.overflow)
    s.unsigned = description.value ~= nil and description.value.kind == "u64"
    s.key = description.key and layout.compile(description.key)
    s.key_bytes, s.value_bytes = s.map:key_buffer(), s.map:value_buffer()
    s.operations.keeping.start(s)
  end
  if description.turn then s.operations.keeping.join(s, description.turn) end
end

-- The handlers of a setup that read the turn at ADDRESS are gone.
function methods:leave(address) state_of(self).operations.keeping.leave(state_of(self), address) end

-- The object's entries as the kernel holds them, one at a time: VISIT is given the raw key and the part, merged over
-- CPUs and, where an element has been made in the second map for want of memory, over both maps.
function aggregate.each(s, visit)
  local merge, join = s.operations.merge, s.operations.join
  local function walk(m, see)
    local entries, stride = m:read(), m.cpus * m.value_stride
    for i = 0, tonumber(entries.count) - 1 do
      see(ffi.string(entries.keys + i * m.key_size, m.key_size),
        merge(s, entries.values + i * stride, m.cpus, m.value_stride))
    end
    map.free(entries)
  end
  local spilled, any = {}, false
  if s.spill then
    walk(s.spill, function(raw, part)
      spilled[raw], any = part, true
    end)
  end
  if not any then return walk(s.map, visit) end
  walk(s.map, function(raw, part)
    local rest = spilled[raw]
    spilled[raw] = nil
    visit(raw, part and rest and join(part, rest) or part or rest)
  end)
  for raw, part in pairs(spilled) do visit(raw, part) end
end

local overflow_pointer = ffi.typeof "const struct uplua_overflow *"
local OVERFLOW = ffi.sizeof "struct uplua_overflow"

-- Of all keys together that S has no room for: their total, how often handlers added to it, and since when.
local function beyond_room(s)
  local m, operations = s.overflow, s.operations
  if not m then return nil, 0, math.huge end
  local entries, stride = m:read(), m.cpus * m.value_stride
  local total, hits, since = nil, 0, math.huge
  for i = 0, tonumber(entries.count) - 1 do
    local values = entries.values + i * stride
    for cpu = 0, m.cpus - 1 do
      local head = ffi.cast(overflow_pointer, values + cpu * m.value_stride)
      hits = hits + tonumber(head.hits)
      if head.since ~= 0 then since = math.min(since, tonumber(head.since) / 1e9) end
    end
    local part = hits > 0 and operations.merge(s, values + OVERFLOW, m.cpus, m.value_stride)
    if part then total = operations.add and operations.add(s, total, part, i) or part end
  end
  map.free(entries)
  return total, hits, since
end

-- rest(o) → the value of all keys together that the aggregation O has no element of, as the script sees it: those that
-- it had no room for, where it is exported, and those that have expired and are kept; nil where there are none. Then
-- how often handlers added to it for want of room, and since when, in seconds of CLOCK_MONOTONIC.
function aggregate.rest(o)
  local s = state_of(o)
  if not s.map then return nil, 0 end
  local total, hits, since = beyond_room(s)
  if total and s.expired then
    total = s.operations.together(total, s.expired)
  else
    total = total or s.expired
  end
  return total and s.operations.value(s, total), hits, since
end

-- expire(o, ttl, now, keep): removes the keys of the aggregation O that nobody has added to in the TTL seconds before
-- NOW, as far as calls of this have seen it. KEEP: what they held is in aggregate.rest. What a handler adds in the very
-- moment in which its key is removed, after so long a time, is lost.
function aggregate.expire(o, ttl, now, keep)
  local s = state_of(o)
  if not s.key then return end
  local operations, before, marks = s.operations, s.marks or {}, {}
  local old = {}
  operations.keeping.read(s, false, function(raw, total)
    local mark, was = operations.mark(total), before[raw]
    marks[raw] = was and was.mark == mark and was or { mark = mark, at = now }
    if now - marks[raw].at >= ttl then old[#old + 1] = raw end
  end)
  for _, raw in ipairs(old) do
    marks[raw] = nil
    ffi.copy(s.key_bytes, raw, #raw)
    local total = operations.keeping.find(s, "take")
    if total and keep then s.expired = s.expired and operations.together(s.expired, total) or total end
  end
  s.marks, s.expirations = marks, (s.expirations or 0) + #old
end

-- How many keys of the aggregation O have expired.
function aggregate.expirations(o) return state_of(o).expirations or 0 end

-- The part of the element whose raw key is in the key buffer, or nil. LOOKUP: how a map is asked ("take" also deletes).
function aggregate.part(s, lookup)
  local part
  for _, m in ipairs { s.map, s.spill } do
    if m[lookup or "lookup"](m, s.key_bytes, s.value_bytes) then
      local found = s.operations.merge(s, s.value_bytes, m.cpus, m.value_stride)
      part = part and found and s.operations.join(part, found) or part or found
    end
  end
  return part
end

-- What was added to a PART since it was what EARLIER is, which may be nil; nil if nothing.
function aggregate.since(s, earlier, part)
  if part == nil or earlier == nil then return part end
  return s.operations.minus(part, earlier)
end

local unit = option_table.check('"ns", "bytes" or "count"', function(value) return text.UNITS[value] and value end)

-- The constructor of KIND. PROPERTIES (name → true) are read from the value of an unkeyed object: h.count.
-- PARAMETERS(…) turns the constructor's arguments before the options into a table that goes to the compiler, raising
-- errors at level 3.
function aggregate.constructor(kind, operations, properties, parameters)
  local metatable = {}
  function metatable.__index(o, key)
    if methods[key] then return methods[key] end
    local s = state_of(o)
    if properties and properties[key] and not s.key then
      local value = get(o, nil, 2)
      local property = value[key]
      if type(property) ~= "function" then return property end
      return function(_, ...) return property(value, ...) end
    end
    return (get(o, key, 2))
  end
  function metatable.__newindex(o)
    error(("%s is written by handlers only, with :add or :inc"):format(called(o)), 2)
  end
  function metatable.__tostring(o)
    local s = state_of(o)
    if not s.map then
      rawset(o, "read", true)
      return empty_of(s)
    end
    return tostring(look(o))
  end
  return function(...)
    local options, buckets = ..., nil
    if parameters then options, buckets = parameters(...) end
    options = option_table.read(kind, options, {
      max = option_table.positive, key = declared_type.layout, name = option_table.name, unit = unit,
      option = option_table.text,
    }, 2)
    options.max = options.max or 65536
    return object.new(kind, options, metatable, {
      operations = operations, buckets = buckets, rounded = {}, unit = options.unit,
    })
  end
end

return aggregate
