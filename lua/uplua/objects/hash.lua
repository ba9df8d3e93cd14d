-- hash, lru_hash, array and percpu_hash: maps that handlers and the script share.
--
--   local live = up.hash { max = 1000000 }
--   live:get(k)  live:set(k, v)  live:delete(k)  live:size()  live:clear()
--   for k, v in live:pairs() do … end           in no order
--   for k, v in live:top(10, "bytes") do … end  the largest; by nothing for values that are numbers, a field or a
--                                               function
--   live[k], live[k] = v                        unless k is a method's name or one of kind, id, options, name, queued,
--                                               read
--
-- Types are inferred from what is stored, or declared:
--   up.hash { key = "u32", value = { n = "u64", name = "string[32]" } }
-- An array has the keys 0 … max - 1, which are always there, zero at first; others read nil and cannot be set. A record
-- that is read is a copy which cannot be written to. A value of a percpu_hash is a list from CPU number (from 0) to
-- that CPU's value; set takes such a list, or one value, which becomes CPU 0's. A map that no handler uses is a table
-- of the script's.
local ffi = require "ffi"
local declared_type = require "uplua.objects.declared_type"
local layout = require "uplua.objects.layout"
local map = require "uplua.base.map"
local object = require "uplua.objects.object"
local option_table = require "uplua.base.option_table"
local order = require "uplua.objects.order"
local record = require "uplua.objects.record"
local printer = require "uplua.objects.printer"
local store = require "uplua.objects.store"

local hash = {}
local methods = {}
local state_of = object.state

local NOWHERE = 1000 -- a level of the stack that is not there: the message names no line, since the user's is over

-- The name of O for messages.
local function called(o) return rawget(o, "name") or rawget(o, "kind") end

-- Raises WHY, what is wrong with what was given as ROLE, "a key", at the line that called the method; nil: nothing is.
local function check(o, role, why, level)
  if why then error(("%s: as %s, %s"):format(called(o), role, why), level + 1) end
end

-- Calls METHOD of the kernel's map for KEY; true if it is there.
local function try(o, s, method, key, value, level)
  local found, why = s.map:try(method, s.key, s.key_bytes, key, value)
  if why and layout.is_too_much(why) then return false end
  check(o, "a key", why, level + 1)
  return found
end

-- Why KEY is no index of an array, or nothing.
local function not_index(o, key)
  local index = tonumber(key)
  if type(key) == "string" or index == nil or index ~= math.floor(index) then
    return ("an array's keys are integers, not %s"):format(record.show(key))
  elseif index < 0 or index >= o.options.max then
    return ("index %s is not in 0 … %d"):format(record.show(key), o.options.max - 1)
  end
end

-- Writes VALUE as CODEC says into memory of its own; returns why it does not fit, or nothing.
local function check_as(codec, value) return codec.encode(ffi.new("uint8_t[?]", codec.size), value) end

-- Before the kernel's map is there: what is declared holds all the same, and where it was set is kept for messages.
local function keep(o, s, key, value, level)
  check(o, "a key", s.array and not_index(o, key) or s.declared_key and check_as(s.declared_key, key), level + 1)
  local by_cpu = o.kind == "percpu_hash" and type(value) == "table" and value[0] ~= nil
  for _, one in pairs(by_cpu and value or { value }) do
    check(o, "a value", s.declared_value and check_as(s.declared_value, one), level + 1)
  end
  local new = type(key) ~= s.key_kind or type(value) ~= s.value_kind or type(key) == "table" or type(value) == "table"
  s.key_kind, s.value_kind = type(key), type(value)
  if new then s.at = debug.getinfo(level + 1, "Sl") end
  s.store:set(key, value, s.at)
end

local function get(o, s, key, level)
  if key == nil then error(called(o) .. ": a key cannot be nil", level + 1) end
  if s.array and not_index(o, key) then return nil end
  if s.store then return s.store:get(key) end
  if not try(o, s, "lookup", key, s.value_bytes, level + 1) then return nil end
  return s.decode(s.value_bytes)
end

local function delete(o, s, key, level)
  if s.array then error(called(o) .. ": an array's entries cannot be deleted; set one to 0", level + 1) end
  if s.store then return s.store:delete(key) end
  return try(o, s, "delete", key, nil, level + 1)
end

local function encode_value(s, value)
  local p, stride = s.value_bytes, s.map.value_stride
  ffi.fill(p, s.map.cpus * stride)
  if s.map.cpus == 1 then return s.value.encode(p, value) end
  if type(value) ~= "table" or value[0] == nil then return s.value.encode(p, value) end
  for cpu = 0, s.map.cpus - 1 do
    if value[cpu] ~= nil then
      local why = s.value.encode(p + cpu * stride, value[cpu])
      if why then return ("CPU %d: %s"):format(cpu, why) end
    end
  end
end

local function set(o, s, key, value, level)
  if key == nil then error(called(o) .. ": a key cannot be nil", level + 1) end
  if value == nil then return (delete(o, s, key, level + 1)) end
  if s.store then return (keep(o, s, key, value, level + 1)) end
  local why = s.array and not_index(o, key)
  if why then error(("%s: %s"):format(called(o), why), level + 1) end
  check(o, "a key", s.key.encode(s.key_bytes, key), level + 1)
  check(o, "a value", encode_value(s, value), level + 1)
  why = s.map:update(s.key_bytes, s.value_bytes)
  if why then
    error(("%s: cannot set [%s]: %s (%d entries); %s"):format(called(o), record.show(key), why, s.map.max_entries,
      object.advice(o)), level + 1)
  end
end

-- The value of KEY, or nil.
function methods:get(key) return (get(self, state_of(self), key, 2)) end

-- Replaces or inserts; a nil value deletes.
function methods:set(key, value) set(self, state_of(self), key, value, 2) end

-- Returns true if the key was there.
function methods:delete(key)
  local gone = delete(self, state_of(self), key, 2)
  return gone
end

local function each(o)
  local s = state_of(o)
  rawset(o, "read", true)
  if s.store then return s.store:pairs() end
  return s.iterate(s.map:read())
end

-- Iterates over what the map holds at this moment, in no order; it may be changed meanwhile.
function methods:pairs() return each(self) end

-- The number of entries.
function methods:size()
  local s = state_of(self)
  if s.store then return s.store:size() end
  local entries = s.map:read()
  local count = tonumber(entries.count)
  map.free(entries)
  return count
end

-- Removes every entry; an array's become zero.
function methods:clear()
  local s = state_of(self)
  if s.store then
    s.store:clear()
  elseif s.array then
    ffi.fill(s.value_bytes, s.map.cpus * s.map.value_stride)
    for i = 0, s.map.max_entries - 1 do
      s.key.encode(s.key_bytes, i)
      local why = s.map:update(s.key_bytes, s.value_bytes)
      if why then error(called(self) .. ": " .. why, 2) end
    end
  else
    map.free(s.map:read(true))
  end
end

-- The sum over the CPUs, where a value is a list of numbers: what such a value is ordered by.
local function total(value)
  if type(value) ~= "table" or value[0] == nil then return value end
  local sum = value[0]
  for cpu = 1, #value do
    if type(value[cpu]) ~= "number" and type(value[cpu]) ~= "cdata" then return value end
    sum = sum + value[cpu]
  end
  return sum
end

-- Iterates over the N largest entries, largest first.
function methods:top(n, by)
  local keys, values = order.top(n, by or (state_of(self).cpus and total) or nil, each(self))
  return order.each(keys, values)
end

local metatable = {}

function metatable.__index(o, key)
  local method = methods[key]
  if method ~= nil then return method end
  return (get(o, state_of(o), key, 2))
end

function metatable.__newindex(o, key, value)
  if methods[key] then error(("'%s' is a method: to use it as a key, write m:set(\"%s\", …)"):format(key, key), 2) end
  set(o, state_of(o), key, value, 2)
end

function metatable.__tostring(o)
  local keys, values, array = {}, {}, state_of(o).array
  for key, value in each(o) do
    if not (array and value == 0) then keys[#keys + 1], values[#values + 1] = key, value end
  end
  local count, weight = #keys, total(values[1])
  if not array and printer.is_number(weight) then
    keys, values = order.top(printer.most(), total, order.each(keys, values))
  else
    keys, values = order.sort(keys, values)
  end
  return printer.entries(keys, values, count)
end

-- The kernel's map is there: writes that were queued go into it.
function methods:bind(description)
  local s = state_of(self)
  local m = map.open(description.fd)
  local key = layout.compile(s.array and { kind = "u32", size = 4 } or description.key)
  local value = layout.compile(description.value)
  s.map, s.key, s.value, s.description = m, key, value, description
  s.key_bytes, s.value_bytes = m:key_buffer(), m:value_buffer()
  s.decode = value.decode
  local stride = m.value_stride
  if m.cpus > 1 or description.type == "percpu_hash" then
    local decode, last = value.decode, m.cpus - 1
    s.cpus = true
    s.decode = function(p)
      local list = {}
      for cpu = 0, last do list[cpu] = decode(p + cpu * stride) end
      return list
    end
  end
  s.iterate = layout.iterator(key.decode, m.key_size, s.decode, m.cpus * stride)
  local queued = self.queued
  rawset(self, "queued", {})
  s.store = nil
  for _, entry in ipairs(queued) do set(self, s, entry[1], entry[2], NOWHERE) end
end

local ARRAY_ALLOWED = { max = option_table.positive, value = declared_type.layout, name = option_table.name }
local ALLOWED = {
  max = option_table.positive, key = declared_type.layout, value = declared_type.layout, name = option_table.name,
  option = option_table.text,
}

local function constructor(kind)
  return function(options)
    options = option_table.read(kind, options, kind == "array" and ARRAY_ALLOWED or ALLOWED, 2)
    options.max = options.max or 65536
    local s = {
      array = kind == "array",
      declared_key = options.key and layout.compile(options.key),
      declared_value = options.value and layout.compile(options.value),
    }
    local o = object.new(kind, options, metatable, s)
    s.store = store.new(o.queued)
    return o
  end
end

-- The object for a map of KIND and MAX entries, called NAME, that a BPF object brings along; KEY and VALUE: the codecs
-- of their types.
function hash.guest(kind, name, max, key, value)
  local array = kind == "array"
  local o = object.guest(kind, name, { max = max }, metatable,
    { array = array, declared_key = not array and key, declared_value = value })
  state_of(o).store = store.new(o.queued)
  return o
end

hash.hash = constructor "hash"
hash.lru_hash = constructor "lru_hash"
hash.array = constructor "array"
hash.percpu_hash = constructor "percpu_hash"

return hash
