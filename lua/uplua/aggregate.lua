-- What count, sum and hist share: per-CPU values that handlers add to, and that the script reads as totals.
--
-- Taking never removes what handlers may be adding to at this moment: a handler on another CPU could have found the entry
-- and add to it just after it was removed, and that increment would be lost. Instead the total at the take is remembered as
-- the key's baseline and is subtracted from later reads. Baselines would let keys that are no longer used fill the map; so,
-- when it is more than half full, a take removes the keys that did not change since the take before.
local ffi = require "ffi"
local layout = require "uplua.layout"
local map = require "uplua.map"
local object = require "uplua.object"
local order = require "uplua.order"
local view = require "uplua.view"

local aggregate = {}
local state_of = object.state

-- The operations that differ by kind of aggregation:
--   merge(p, cpus, stride)   the total of one entry's copies
--   minus(total, baseline)   what was added since; nil if nothing
--   value(total)             as the script sees it
--   zero()                   the value of what was never added to
--   by                       what entries are ordered by (nil: the value)

local function since(s, raw, total)
  local baseline = s.baseline[raw]
  if baseline == nil then return total end
  return s.operations.minus(total, baseline)
end

-- Reads all entries: lists of keys and values, as the script sees them. TAKE: and starts anew.
local function read_keyed(s, take)
  local m, merge, value = s.map, s.operations.merge, s.operations.value
  local keys, values, idle, held = {}, {}, {}, 0
  local stride = m.cpus * m.value_stride
  local entries = m:read()
  for i = 0, tonumber(entries.count) - 1 do
    local key = entries.keys + i * m.key_size
    local total = merge(entries.values + i * stride, m.cpus, m.value_stride)
    local raw = ffi.string(key, m.key_size)
    local added = since(s, raw, total)
    held = held + 1
    if added ~= nil then
      keys[#keys + 1], values[#values + 1] = s.key.decode(key), value(added)
    elseif take then
      idle[#idle + 1] = raw
    end
    if take then s.baseline[raw] = total end
  end
  map.free(entries)
  if take and held * 2 > m.max_entries then
    for _, raw in ipairs(idle) do
      if m:take(raw, s.value_bytes) then
        local added = since(s, raw, merge(s.value_bytes, m.cpus, m.value_stride))
        if added ~= nil then
          keys[#keys + 1] = s.key.decode(ffi.cast("const uint8_t *", raw))
          values[#values + 1] = value(added)
        end
      end
      s.baseline[raw] = nil
    end
  end
  return keys, values
end

local function read_unkeyed(s, take)
  local m = s.map
  local index = ffi.new("uint32_t[1]", 0)
  if not m:lookup(index, s.value_bytes) then return s.operations.zero() end
  local total = s.operations.merge(s.value_bytes, m.cpus, m.value_stride)
  local added = since(s, "", total)
  if take then s.baseline[""] = total end
  if added == nil then return s.operations.zero() end
  return s.operations.value(added)
end

local function snapshot(o, take)
  local s = state_of(o)
  rawset(o, "read", true)
  if not s.map then return view.single(s.operations.zero()) end
  if s.key then
    local keys, values = read_keyed(s, take)
    return view.keyed(keys, values, s.operations.zero(), s.operations.by)
  end
  return view.single(read_unkeyed(s, take))
end

local function get(o, key, level)
  local s = state_of(o)
  rawset(o, "read", true)
  if not s.map then return s.operations.zero() end
  if not s.key then
    if key ~= nil then error(("%s has no keys: its handlers add to it as a whole; use :get()"):format(o.name or o.kind), level + 1) end
    return read_unkeyed(s, false)
  end
  if key == nil then error(("%s is keyed: use %s[key] or :pairs()"):format(o.name or o.kind, o.name or "it"), level + 1) end
  local found, why = s.map:try("lookup", s.key, s.key_bytes, key, s.value_bytes)
  if why then error(("%s: as a key, %s"):format(o.name or o.kind, why), level + 1) end
  if not found then return s.operations.zero() end
  local total = s.operations.merge(s.value_bytes, s.map.cpus, s.map.value_stride)
  local added = since(s, ffi.string(s.key_bytes, s.map.key_size), total)
  if added == nil then return s.operations.zero() end
  return s.operations.value(added)
end

local methods = {}

-- The total: of KEY, or of an unkeyed aggregation.
function methods:get(key) return (get(self, key, 2)) end

-- Iterates over keys and totals, in no order.
function methods:pairs() return snapshot(self):pairs() end

-- Iterates over the N largest, largest first; BY is a field's name or a function of value and key.
function methods:top(n, by)
  local keys_and_values = snapshot(self)
  return keys_and_values:top(n, by)
end

-- The number of keys.
function methods:size() return snapshot(self):size() end

-- A view of what there is; the aggregation starts anew, and no increment is lost between the two.
function methods:take() return snapshot(self, true) end

-- A take thrown away.
function methods:clear() snapshot(self, true) end

local function only_in_handlers(name)
  return function(o)
    error(("%s:%s() is for handlers; a script that counts for itself needs only a variable"):format(o.name or o.kind, name), 2)
  end
end
methods.inc, methods.add = only_in_handlers "inc", only_in_handlers "add"

function methods:bind(description)
  local s = state_of(self)
  if s.fd == description.fd and s.map then return end
  s.fd = description.fd
  s.map = map.open(description.fd)
  s.key = description.key and layout.compile(description.key)
  s.key_bytes, s.value_bytes = s.map:key_buffer(), s.map:value_buffer()
  s.baseline = {}
end

-- The constructor of KIND. PROPERTIES (name → true) are read from the value of an unkeyed object: h.count.
function aggregate.constructor(kind, operations, properties)
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
    error(("%s is written by handlers only, with :add or :inc"):format(o.name or o.kind), 2)
  end
  function metatable.__tostring(o)
    local s = state_of(o)
    if not s.map then
      rawset(o, "read", true)
      return s.operations.empty
    end
    return tostring(snapshot(o))
  end
  return function(options)
    options = object.check(kind, options, { max = object.positive, key = object.type }, 2)
    options.max = options.max or 65536
    return object.new(kind, options, metatable, { operations = operations, baseline = {} })
  end
end

return aggregate
