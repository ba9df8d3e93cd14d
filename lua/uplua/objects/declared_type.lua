-- Declared types of keys and values: "u32", "string[32]", { n = "u64", ok = "bool" }, { "u32", "i64" } → LAYOUT
-- (doc/internals.md).
--
-- Integers and booleans take their own bytes, aligned to them, as in C; strings and records begin at a multiple of 8
-- and fill whole words. A tuple's fields stand in their order. A table has none: a record's stand by size, the largest
-- first, then by name.
local contract = require "uplua.contract"
local text = require "uplua.base.text"

local declared_type = {}

local SCALARS = { bool = 1, stack = 8 }
for bits = 3, 6 do SCALARS["i" .. 2 ^ bits], SCALARS["u" .. 2 ^ bits] = 2 ^ bits / 8, 2 ^ bits / 8 end
local NAMES = text.keys(SCALARS)
NAMES[#NAMES + 1] = "string"
NAMES[#NAMES + 1] = "bytes"

local MOST_STRING, MOST_BYTES, HEADER = contract.MAX_STRING, contract.MAX_BUFFER, contract.BUFFER_HEADER
local DEFAULT_STRING, MOST_FIELDS, MOST_ELEMENTS, DEEPEST = 64, 64, 512, 8

local function round(n, to) return math.ceil(n / to) * to end

-- COUNT integers of a type, in a row.
local function array(element, count)
  if count < 1 or count > MOST_ELEMENTS then
    return nil, ("'%s[%d]': an array has 1 to %d elements"):format(element, count, MOST_ELEMENTS)
  end
  local size = SCALARS[element]
  return { kind = "array", size = round(count * size, 8), count = count, offset = 0,
           element = { kind = element, size = size } }
end

local function scalar(name)
  if SCALARS[name] then return { kind = name, size = SCALARS[name] } end
  local bytes = name == "string" and DEFAULT_STRING or tonumber(name:match "^string%[(%d+)%]$")
  if bytes and bytes >= 1 and bytes <= MOST_STRING then return { kind = "string", size = round(bytes, 8) } end
  if bytes then return nil, ("'%s': a string has 1 to %d bytes"):format(name, MOST_STRING) end
  local element, count = name:match "^([iu]%d+)%[(%d+)%]$"
  if SCALARS[element] then return array(element, tonumber(count)) end
  bytes = name == "bytes" and DEFAULT_STRING or tonumber(name:match "^bytes%[(%d+)%]$")
  if bytes and bytes >= 1 and bytes <= MOST_BYTES then return { kind = "bytes", size = HEADER + round(bytes, 8) } end
  if bytes then return nil, ("'%s': a buffer has 1 to %d bytes"):format(name, MOST_BYTES) end
  local known = text.did_you_mean(name, NAMES)
  return nil, ("'%s' is not a type%s"):format(name, known ~= "" and known or
    "; write \"u32\", \"string[32]\", … or { name = \"u64\", … }")
end

local read

-- Fields in the order of their places, or nil and what is wrong.
local function fields_of(value, depth)
  local fields, count, tuple = {}, 0, value[1] ~= nil
  for name, of in pairs(value) do
    count = count + 1
    if type(name) ~= (tuple and "number" or "string") then
      return nil, "a record's fields have names, a tuple's have none: not both in one type"
    end
    local layout, why = read(of, depth + 1)
    if not layout then return nil, ("field '%s': %s"):format(name, why) end
    fields[count] = { name = name, layout = layout }
  end
  if tuple and count ~= #value then return nil, "a tuple's fields are numbered from 1 without gaps" end
  if count > MOST_FIELDS then return nil, ("%d fields; there can be %d"):format(count, MOST_FIELDS) end
  table.sort(fields, function(a, b)
    if tuple or a.layout.size == b.layout.size then return a.name < b.name end
    return a.layout.size > b.layout.size
  end)
  return fields
end

function read(value, depth)
  if type(value) == "string" then return scalar(value) end
  if type(value) ~= "table" or next(value) == nil then
    return nil, ("%s is not a type; write \"u32\", \"string[32]\", … or { name = \"u64\", … }"):format(
      type(value) == "table" and "{}" or tostring(value))
  end
  if depth > DEEPEST then return nil, ("records are nested more than %d deep"):format(DEEPEST) end
  local fields, why = fields_of(value, depth)
  if not fields then return nil, why end
  local at = 0
  for _, field in ipairs(fields) do
    at = round(at, math.min(field.layout.size, 8))
    field.offset = at
    at = at + field.layout.size
  end
  return { kind = "record", size = round(at, 8), fields = fields }
end

-- The layout of declaration VALUE, or nil and what is wrong with it. For option_table.read.
function declared_type.layout(value) return read(value, 0) end

return declared_type
