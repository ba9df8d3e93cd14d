-- What is in cdata: the fields of structures, the elements of arrays, the names of enums' values, by what LuaJIT's FFI
-- knows of their types (lj_ctype.h has the layout of that). Pointers are not followed: nobody knows where they lead to.
local bit = require "bit"
local ffi = require "ffi"

local cdata = {}

-- CT_*: the four highest bits of a type's info.
local NUMBER, STRUCT, POINTER, ARRAY, ENUM = 0, 1, 2, 3, 5
local TYPEDEF, ATTRIBUTE, FIELD, BITFIELD, CONSTANT = 7, 8, 9, 10, 11
local REFERENCE, SPECIAL = 0x00800000, 0x0c000000 -- of pointers: CTF_REF; of arrays: CTF_VECTOR, CTF_COMPLEX

local function kind_of(type) return bit.rshift(type.info, 28) end
local function inner(type) return ffi.typeinfo(bit.band(type.info, 0xffff)) end

-- TYPE without its names and attributes.
local function plain(type)
  while kind_of(type) == TYPEDEF or kind_of(type) == ATTRIBUTE do type = inner(type) end
  return type
end

-- The type of V, or of what it refers to, and whether it does.
local function type_of(v)
  local type = plain(ffi.typeinfo(tonumber(ffi.typeof(v))))
  if kind_of(type) == POINTER and bit.band(type.info, REFERENCE) ~= 0 then return plain(inner(type)), true end
  return type, false
end

-- Adds the names of the fields of TYPE to LIST, and of what is in it without a name.
local function add_fields(list, type)
  local field = type.sib and ffi.typeinfo(type.sib)
  while field do
    local kind = kind_of(field)
    if field.name and (kind == FIELD or kind == BITFIELD) then
      list[#list + 1] = field.name
    elseif kind == ATTRIBUTE then
      add_fields(list, plain(field))
    end
    field = field.sib and ffi.typeinfo(field.sib)
  end
end

-- Whether SIZE bytes at V can be read: a reference may be to anything.
local function is_there(v, size)
  local first = tonumber(ffi.cast("uintptr_t", ffi.cast("const void *", v)))
  for line in io.lines "/proc/self/maps" do
    local from, to = line:match "^(%x+)%-(%x+) r"
    from, to = tonumber(from or "", 16), tonumber(to or "", 16)
    if from and from <= first and first < to then
      if first + size <= to then return true end
      first, size = to, first + size - to -- goes on in the next
    end
  end
  return false
end

-- Whether V is text: an array of char.
local function is_text(v) return tostring(ffi.typeof(v)):gsub("<const ", "<"):find "^ctype<char [%(%[]" end

-- parts(v, most): of a structure or array { { name or number, value }, … }, of which MOST at the most, and how many
-- there are in all; nil of other cdata, and of a type that has a text of its own.
function cdata.parts(v, most)
  if not tostring(v):find "^cdata<" then return nil end
  local type, refers = type_of(v)
  local kind, list = kind_of(type), {}
  if kind ~= STRUCT and (kind ~= ARRAY or bit.band(type.info, SPECIAL) ~= 0 or is_text(v)) then return nil end
  local size = refers and type.size or ffi.sizeof(v) -- of an array that was made with its length
  if not size or refers and not is_there(v, size) then return nil end
  if kind == ARRAY then
    local count = size / math.max(plain(inner(type)).size or size, 1)
    for i = 0, math.min(count, most) - 1 do list[i + 1] = { i, v[i] } end
    return list, count
  end
  local names = {}
  add_fields(names, type)
  for i = 1, math.min(#names, most) do list[i] = { names[i], v[names[i]] } end
  return list, #names
end

-- The name of the constant of the enum TYPE that is NUMBER.
local function constant(type, number)
  local one = type.sib and ffi.typeinfo(type.sib)
  while one do
    if kind_of(one) == CONSTANT and one.size == number then return one.name end
    one = one.sib and ffi.typeinfo(one.sib)
  end
end

-- The text of V, which has no parts; of an array of char, and of an enum, nil and the string that stands for it.
function cdata.text(v)
  local shown = tostring(v)
  if not shown:find "^cdata<" then return shown end
  local type, refers = type_of(v)
  local kind = kind_of(type)
  if kind == ENUM then
    local name = constant(type, tonumber(v))
    return name == nil and ("%d"):format(tonumber(v)) or nil, name
  end
  if kind == NUMBER and (not refers or is_there(v, type.size)) then return tostring(tonumber(v)) end
  if kind == ARRAY and is_text(v) then
    local size = refers and type.size or ffi.sizeof(v)
    if not refers or is_there(v, size) then
      local bytes = ffi.string(v, size)
      return nil, bytes:match "^[^%z]*"
    end
  end
  return (shown:gsub("^cdata<(.*)>: ", "%1: "))
end

return cdata
