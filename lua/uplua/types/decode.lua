-- Bytes that were taken of a program, as the values of their type: as plain data, and as what is shown of them
-- (layout.lua).
--
-- A plain value is a number (64-bit cdata beyond 2^53), a boolean, a text, a list, or a table by the fields' names;
-- an enum's constant is its name, an address a number, 0 is NULL. What an address leads to stands in its place where
-- that was taken, too.
local containers = require "uplua.types.containers"
local describe   = require "uplua.types.describe"
local scalars    = require "uplua.types.scalars"
local special    = require "uplua.types.special"
local text       = require "uplua.base.text"

local decode = {}

local type_of = type -- types are called so here

decode.ELEMENTS = 16 -- of a list that are shown
local TEXT = 127     -- bytes of an array of characters that are shown
local DEEPEST = 16   -- structs in structs
local UNKNOWN = "?"  -- of a type that nobody can show
local MORE = "…"

-- BYTES in quotes; CUT: there were more.
function decode.quoted(bytes, cut)
  return ('"%s"%s'):format(text.escape((bytes:gsub('[\\"]', "\\%0"))), cut and MORE or "")
end

-- An array of characters: what stands before its NUL.
local function text_of_array(bytes, at, count)
  local whole = bytes:sub(at + 1, at + count)
  local value = whole:match "^%Z*"
  local cut = #whole < count and #value == #whole or #value > TEXT
  return value, decode.quoted(value:sub(1, TEXT), cut)
end

local value_of -- below

-- COUNT elements of TYPE from AT on.
local function list_of(type, bytes, at, count, targets, depth)
  local plain, shown = {}, { "[", "]" }
  for i = 1, math.min(count, decode.ELEMENTS) do
    local offset = at + (i - 1) * type.size
    if offset + type.size > #bytes then break end
    local value, of_value = value_of(type, bytes, offset, nil, targets, depth + 1)
    plain[i] = value == nil and UNKNOWN or value
    shown[i + 2] = { nil, of_value }
  end
  if #plain < count then shown[#shown + 1] = { nil, MORE } end
  return plain, shown
end

-- The fields of the struct TYPE; of bases and members that it has without a name, too. Those of no bytes say nothing.
local function struct_of(type, bytes, at, targets, depth)
  local plain, shown = {}, { "{", "}" }
  for _, field in ipairs(type.fields or {}) do
    local of_field = describe.of_field(type, field)
    if of_field and at + field.offset >= #bytes then -- what was taken ends here
      shown[#shown + 1] = { nil, MORE }
      break
    elseif of_field and (field.bits or of_field.size > 0) then
      local value, of_value = value_of(of_field, bytes, at + field.offset, field, targets, depth + 1)
      local is_empty = of_field.size == 1 and type_of(of_value) == "table" and #of_value == 2 -- C++'s, without members
      if not is_empty then
        if plain[field.name] == nil then plain[field.name] = value end -- a base's may have the same name
        shown[#shown + 1] = { text.escape(field.name), of_value }
      end
    end
  end
  if #shown == 2 and type.size > 1 then shown[3] = { nil, MORE } end -- its parts have no names, or differ by value
  return plain, shown
end

local WORD = { kind = "integer", size = 8, bits = 64 }
local ADDRESS = { kind = "pointer", size = 8 }

-- What the struct AT so many of BYTES, a container, says of what it contains: where, and how much.
local function container_of(container, bytes, at)
  local address, shown = scalars.decode(ADDRESS, bytes, at + container.pointer)
  local count = container.length and scalars.decode(WORD, bytes, at + container.length)
  if not shown then return nil, UNKNOWN end
  if not count then return address, shown end
  return address, ("%s (%s %s)"):format(shown, text.integer(count), container.text and "bytes" or "elements")
end

-- The value of TYPE that lies AT so many of BYTES: plain, and shown. FIELD: of which field it is the value. TARGETS: by
-- their offsets in BYTES, functions that return what words there lead to, plain and shown.
function value_of(type, bytes, at, field, targets, depth)
  local elsewhere = containers.of(type)
  local follow = targets and (elsewhere or type.kind == "pointer") and targets[at] -- and not a struct that begins there
  if follow then return follow() end
  if depth > DEEPEST then return nil, UNKNOWN end
  if elsewhere then return container_of(elsewhere, bytes, at) end
  if type.kind == "struct" then
    local known = special.text(type, bytes:sub(at + 1, at + type.size))
    local plain, shown = struct_of(type, bytes, at, targets, depth)
    return plain, known or shown
  end
  if type.kind == "text" and type.size > 0 then -- of Fortran, which fills it with spaces
    local value = bytes:sub(at + 1, at + type.size)
    return value, decode.quoted(value:sub(1, TEXT), #value > TEXT or #value < type.size)
  end
  local element = type.kind == "array" and describe.element(type)
  if element and describe.is_char(element) then return text_of_array(bytes, at, type.count) end
  if element and (element.size or 0) > 0 then return list_of(element, bytes, at, type.count, targets, depth) end
  local plain, shown = scalars.decode(type, bytes, at, field)
  return plain, shown or at >= #bytes and MORE or UNKNOWN
end

-- value(type, bytes, [targets]): the value of TYPE that BYTES, a string, are: plain, and shown.
function decode.value(type, bytes, targets)
  return value_of(type, bytes, 0, nil, targets, 1)
end

-- The text of COUNT bytes, of which BYTES were taken.
function decode.counted_text(bytes, count)
  local cut = #bytes < tonumber(count)
  return bytes, decode.quoted(bytes) .. (cut and ("%s (%s bytes)"):format(MORE, text.integer(count)) or "")
end

-- The list of COUNT elements of TYPE, of which BYTES were taken.
function decode.counted_list(type, bytes, count)
  local plain, shown = list_of(type, bytes, 0, tonumber(count), nil, 1)
  if #plain < tonumber(count) then shown[#shown] = { nil, ("%s (%s elements)"):format(MORE, text.integer(count)) } end
  return plain, shown
end

-- SHOWN behind BEFORE, "0x55… ".
function decode.behind(before, shown)
  if type(shown) == "string" then return before .. shown end
  local copy = { before = before .. (shown.before or "") }
  for i = 1, #shown do copy[i] = shown[i] end
  return copy
end

return decode
