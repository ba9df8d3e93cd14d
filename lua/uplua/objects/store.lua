-- Key → value in Lua, for a shared object that no handler uses, or not yet: the script may write and read it all the
-- same. Its list of entries is what the object passes on as `queued` when the kernel's map is made.
local ffi = require "ffi"
local buffer = require "uplua.objects.buffer"
local record = require "uplua.objects.record"
local text = require "uplua.base.text"

local store = {}
store.__index = store

local int64, uint64, istype = ffi.typeof("int64_t"), ffi.typeof("uint64_t"), ffi.istype

-- What stands for the objects that are equal only to themselves, stacks and the frames of up.sym: each has a number.
local numbers, made = setmetatable({}, { __mode = "k" }), 0
local function number_of(object)
  if not numbers[object] then
    made = made + 1
    numbers[object] = made
  end
  return numbers[object]
end

-- An integer N, a number or cdata, as the 64 bits that a key has of it; a fraction as it is.
local function integer(n)
  local value = tonumber(n)
  if value >= 0 and value <= 2 ^ 53 then return value end
  if type(n) == "number" then
    if n % 1 ~= 0 or n < -2 ^ 63 or n >= 2 ^ 64 then return n end
    n = n < 2 ^ 63 and ffi.cast(int64, n) or ffi.cast(uint64, n - 2 ^ 63) + 2ULL ^ 63
  end
  return "i" .. text.integer(ffi.cast(uint64, n))
end

-- PART, the canonical form of a tuple's or record's field, as text that no other one has.
local function exact(part)
  local kind = type(part)
  if kind == "number" then return ("n%.17g"):format(part) end
  return (kind == "string" or kind == "boolean") and tostring(part) or "o" .. number_of(part)
end

-- A key that is the same for equal keys: a number and the cdata of the same value, a string and a whole buffer of its
-- bytes, tuples and records with equal fields.
function store.canonical(key)
  local kind = type(key)
  if kind == "number" or istype(int64, key) or istype(uint64, key) then
    return integer(key)
  elseif kind == "string" then
    return "s" .. key
  elseif buffer.is(key) then
    return key.size == #key and "s" .. key:bytes() or ("c%d:%s"):format(key.size, key:bytes())
  elseif record.is(key) or (kind == "table" and not getmetatable(key)) then
    local parts = {}
    for name, value in pairs(key) do
      local part = exact(store.canonical(value))
      parts[#parts + 1] = ("%s=%d:%s"):format(tostring(name), #part, part)
    end
    table.sort(parts)
    return "t" .. table.concat(parts, ",")
  end
  return key
end

-- A store over the list ENTRIES of { key, value }.
function store.new(entries) return setmetatable({ entries = entries, place = {} }, store) end

function store:get(key)
  local at = self.place[store.canonical(key)]
  return at and self.entries[at][2]
end

-- AT: .short_src and .currentline of who sets it, or of who set the first of several of the same types.
function store:set(key, value, at)
  local name = store.canonical(key)
  local place = self.place[name]
  if not place then
    place = #self.entries + 1
    self.place[name] = place
  end
  self.entries[place] = { key, value, at = at }
end

-- true if the key was there.
function store:delete(key)
  local name = store.canonical(key)
  local at = self.place[name]
  if not at then return false end
  local last = #self.entries
  self.place[name] = nil
  if at ~= last then
    self.entries[at] = self.entries[last]
    self.place[store.canonical(self.entries[at][1])] = at
  end
  self.entries[last] = nil
  return true
end

function store:clear()
  for i = #self.entries, 1, -1 do self.entries[i] = nil end
  self.place = {}
end

function store:size() return #self.entries end

function store:pairs()
  local entries, i = {}, 0
  for at, entry in ipairs(self.entries) do entries[at] = entry end
  return function()
    i = i + 1
    if entries[i] then return entries[i][1], entries[i][2] end
  end
end

return store
