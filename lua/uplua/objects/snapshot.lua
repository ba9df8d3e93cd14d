-- The values of an aggregation at one moment: plain values in Lua, with the reading methods of the aggregation itself.
--   v:get(key)  v[key]  v:pairs()  v:top(n, by)  v:size()  tostring(v)
-- An unkeyed snapshot is one value: v:get().
local order = require "uplua.objects.order"
local printer = require "uplua.objects.printer"
local store = require "uplua.objects.store"

local snapshot = {}
local methods = {}
local contents = setmetatable({}, { __mode = "k" }) -- snapshot → { keys =, values =, value =, zero =, unit =, place = }

-- The value of KEY (none for an unkeyed snapshot); what was never counted is the aggregation's zero.
function methods:get(key)
  local c = contents[self]
  if not c.keys then return c.value end
  if key == nil then error("get: it is keyed: name the key, or use :pairs()", 2) end
  if not c.place then
    c.place = {}
    for i, k in ipairs(c.keys) do c.place[store.canonical(k)] = i end
  end
  local i = c.place[store.canonical(key)]
  if i then return c.values[i] end
  return c.zero
end

-- Iterates over keys and values, in no order.
function methods:pairs()
  local c = contents[self]
  return order.each(c.keys or {}, c.values or {}, nil, c.unit)
end

-- Iterates over the N largest (all, where N is nil), largest first.
function methods:top(n, by)
  local c = contents[self]
  local keys, values = order.top(n, by or c.by, order.each(c.keys or {}, c.values or {}))
  return order.each(keys, values, nil, c.unit)
end

function methods:size()
  local c = contents[self]
  return c.keys and #c.keys or 1
end

local metatable = {}

function metatable.__index(v, key)
  if methods[key] then return methods[key] end
  local c = contents[v]
  if c.keys then return methods.get(v, key) end
  -- An unkeyed histogram's fields and methods.
  if type(c.value) == "table" then return c.value[key] end
end

function metatable.__newindex() error("a snapshot cannot be written to", 2) end

function metatable.__tostring(v)
  local c = contents[v]
  if not c.keys then return printer.value(c.value, c.unit) end
  local keys, values = order.top(printer.most(), c.by, order.each(c.keys, c.values))
  return printer.entries(keys, values, #c.keys, c.unit, c.rest)
end

-- True for snapshots, and for those that have keys.
function snapshot.is(v) return contents[v] ~= nil end
function snapshot.is_keyed(v) return contents[v].keys ~= nil end

-- A snapshot of lists KEYS and VALUES; ZERO is the value of a key that is not there, BY what entries are ordered by
-- (nil: the value), UNIT what numbers are printed in (nil: as they are), REST the value of other keys (nil: there are
-- none).
function snapshot.keyed(keys, values, zero, by, unit, rest)
  local v = setmetatable({}, metatable)
  contents[v] = { keys = keys, values = values, zero = zero, by = by, unit = unit, rest = rest }
  return v
end

-- A snapshot of one value, in UNIT.
function snapshot.single(value, unit)
  local v = setmetatable({}, metatable)
  contents[v] = { value = value, unit = unit }
  return v
end

return snapshot
