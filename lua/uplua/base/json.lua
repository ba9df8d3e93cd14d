-- JSON: values as text, written into one buffer by code that LuaJIT compiles, since a report may be a million records.
--   json.encode(value)                          a text
--   at = json.raw(0, '{"type":"x"'); at = json.value(at, value); … ; json.text(at)      one of several parts
-- In strings, bytes that are no UTF-8 and control characters become \x1b and the like, as in text. Integers become
-- numbers if these hold them exactly, otherwise texts of their digits. A number has the digits that it takes to read it
-- again. Empty tables in tables are left out, since nothing says whether they are lists; the fields of an object stand
-- in alphabetical order.
local ffi  = require "ffi"
local text = require "uplua.base.text"

local json = {}

local EXACT = 2 ^ 53 -- integers below it are exact as numbers
local NONE  = "null"

local byte_array = ffi.typeof "uint8_t[?]"
local int64, uint64, istype = ffi.typeof "int64_t", ffi.typeof "uint64_t", ffi.istype
local floor, copy = math.floor, ffi.copy

-- The buffer is the process's: no text is begun before the one before is taken.
local room = 4096
local buffer = byte_array(room)

-- Has the buffer hold MORE bytes behind the first AT.
local function reserve(at, more)
  if at + more <= room then return end
  local old = buffer
  while at + more > room do room = 2 * room end
  buffer = byte_array(room)
  copy(buffer, old, at)
end

-- What stands in strings with a backslash, and what text.escape has to see.
local QUOTE, BACKSLASH = 34, 92
local special = byte_array(256)
for byte = 0, 255 do
  special[byte] = (byte < 32 or byte > 126) and 2 or (byte == QUOTE or byte == BACKSLASH) and 1 or 0
end

-- Each of these writes behind the first AT bytes, and returns how many there are then.

-- S as it is.
function json.raw(at, s)
  reserve(at, #s)
  copy(buffer + at, s, #s)
  return at + #s
end
local raw = json.raw

-- The bytes of S, which text.escape has seen.
local function escaped(at, s)
  reserve(at, 2 * #s + 2)
  buffer[at], at = QUOTE, at + 1
  for i = 1, #s do
    local byte = s:byte(i)
    if special[byte] == 1 then buffer[at], at = BACKSLASH, at + 1 end
    buffer[at], at = byte, at + 1
  end
  buffer[at] = QUOTE
  return at + 1
end

-- By bytes: a pointer into the string LuaJIT may take for the offset alone (uplua.syscalls.structures).
local function is_plain(s)
  for i = 1, #s do
    if special[s:byte(i)] ~= 0 then return false end
  end
  return true
end

local function string(at, s)
  if not is_plain(s) then return escaped(at, text.escape(s)) end
  local n = #s
  reserve(at, n + 2)
  buffer[at] = QUOTE
  copy(buffer + at + 1, s, n)
  buffer[at + n + 1] = QUOTE
  return at + n + 2
end

-- The integer V, whose magnitude is EXACT at most.
local function integer(at, v)
  reserve(at, 20)
  if v < 0 then
    buffer[at], at, v = 45, at + 1, -v
  end
  local digits, rest = 1, v
  while rest >= 10 do rest, digits = floor(rest / 10), digits + 1 end
  for i = at + digits - 1, at, -1 do
    local tens = floor(v / 10)
    buffer[i], v = 48 + (v - 10 * tens), tens
  end
  return at + digits
end

local function quoted(at, s) return raw(at, '"' .. s .. '"') end

local function number(at, v)
  if v ~= v or v == math.huge or v == -math.huge then return quoted(at, tostring(v)) end
  if floor(v) == v and v <= EXACT and v >= -EXACT then return integer(at, v) end
  if floor(v) == v and math.abs(v) < 2 ^ 64 then return quoted(at, ("%.0f"):format(v)) end
  local short = ("%.14g"):format(v)
  return raw(at, tonumber(short) == v and short or ("%.17g"):format(v))
end

local DEEPEST = 16 -- tables in tables

local function is_empty(v) return type(v) == "table" and next(v) == nil end

-- The length of T as a list: the largest index; nil where it has other keys, or more holes than elements.
local function length_of(t)
  local length, count = #t, 0
  for key in pairs(t) do
    if type(key) ~= "number" or key < 1 or key % 1 ~= 0 then return nil end
    if key > length then length = key end
    count = count + 1
  end
  return length <= 2 * count + 8 and length or nil
end

-- The fields of tables, as steps: which keys come one after the other as pairs has them, to `ordered`: the keys in the
-- order of their names, and `names`: these as JSON. Tables that are made at one place of a script have the same. A few
-- are kept: those of maps are all different.
local MOST_STEPS = 1000
local first_step, steps = {}, 0

local function ordered_fields(t)
  local keys, names = {}, {}
  for key in pairs(t) do
    local name, at = tostring(key), #keys + 1
    while at > 1 and name < names[at - 1] do
      names[at], keys[at], at = names[at - 1], keys[at - 1], at - 1
    end
    names[at], keys[at] = name, key
  end
  return keys, names
end

local function step_of(t)
  local step = first_step
  for key in pairs(t) do
    local following = step[key]
    if not following then
      following, steps = {}, steps + 1
      if steps <= MOST_STEPS then step[key] = following end
    end
    step = following
  end
  if not step[step] then -- no key of a table that is JSON is this
    local keys, names = ordered_fields(t)
    step[step] = { keys = keys, names = names }
  end
  return step[step]
end

local value

local function list(at, t, length, depth)
  at = raw(at, "[")
  for i = 1, length do
    if i > 1 then at = raw(at, ",") end
    if t[i] == nil or is_empty(t[i]) then at = raw(at, NONE) else at = value(at, t[i], depth) end
  end
  return raw(at, "]")
end

local function object(at, t, depth)
  local fields, any = step_of(t), false
  local keys, names = fields.keys, fields.names
  at = raw(at, "{")
  for i = 1, #keys do
    local element = t[keys[i]]
    if not is_empty(element) then
      if any then at = raw(at, ",") end
      at, any = raw(string(at, names[i]), ":"), true
      at = value(at, element, depth)
    end
  end
  return raw(at, "}")
end

-- V, as it stands DEPTH tables deep. What is none of Lua's own values, a stack, a record, a table with a
-- metatable, becomes what json.plain makes of it, a function that uplua.objects.format sets.
function value(at, v, depth)
  local kind = type(v)
  if kind == "string" then return string(at, v) end
  if kind == "number" then return number(at, v) end
  if kind == "boolean" then return raw(at, v and "true" or "false") end
  if kind == "nil" then return raw(at, NONE) end
  if kind == "cdata" and (istype(int64, v) or istype(uint64, v)) then
    local n = tonumber(v)
    if n <= EXACT and n >= -EXACT and v == n then return integer(at, n) end
    return quoted(at, (tostring(v):gsub("U?LL$", "")))
  end
  depth = (depth or 0) + 1
  if kind ~= "table" or getmetatable(v) then
    local plain = json.plain and json.plain(v)
    if type(plain) ~= "table" or getmetatable(plain) then return string(at, tostring(plain or v)) end
    v = plain
  end
  if depth > DEEPEST then return string(at, tostring(v)) end
  local length = length_of(v)
  if length and length > 0 then return list(at, v, length, depth) end
  return object(at, v, depth)
end
json.value = value

-- The first AT bytes.
function json.text(at) return ffi.string(buffer, at) end

-- VALUE, of tables, strings, numbers and booleans, as JSON in one line.
function json.encode(v) return json.text(value(0, v)) end

return json
