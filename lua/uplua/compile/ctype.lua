-- Describes C types to the compiler (src/compile/context/ctype.h). LuaJIT's FFI parses declarations but does not list
-- them: a type is found out by looking, through it, at a scratch buffer of known bytes, and at how the FFI prints what
-- it sees. Nothing of the traced program is looked at here.
--
-- Types go by handles, which stay the same for the same type; const and volatile make no difference.
local ffi = require "ffi"
local bit = require "bit"

local ctype = {}

-- The FFI's types are the process's, and so are their handles.
local types = {}   -- handle → { kind, name, size, bits, count: ctype.describe; at(address): what the FFI finds there }
local handles = {} -- name → handle

-- Memory to look at. The FFI may take an address in it for a float, which must not be a negative NaN: LuaJIT would take
-- that for a value of another type.
local SCRATCH = 64
local function new_scratch()
  local bytes = ffi.new("uint8_t[?]", SCRATCH)
  local low = tonumber(ffi.cast("uintptr_t", bytes) % 2ULL ^ 32)
  if low < 0xff800000 then return bytes end
  local large = ffi.new("uint8_t[?]", 2 ^ 24)
  return large + 2 ^ 23, large
end

local here, here_owner = new_scratch()
local there, there_owner = new_scratch() -- where a C++ reference that lies here leads to
ctype.scratch = { here, here_owner, there, there_owner } -- kept from the garbage collector

local function fill(bytes, byte) ffi.fill(bytes, SCRATCH, byte) end

local function address_of(value) return ffi.cast("uintptr_t", ffi.cast("void *", value)) end

-- How the FFI prints the type of VALUE, without qualifiers: "const struct request *const" is "struct request *".
local function name_of(value)
  local name = tostring(ffi.typeof(value)):match "^ctype<(.*)>$"
  name = name:gsub("%f[%w_]const%f[^%w_]", ""):gsub("%f[%w_]volatile%f[^%w_]", ""):gsub("%s+", " ")
  return (name:gsub("^ ", ""):gsub(" $", ""):gsub("%* %*", "**"):gsub("%* %*", "**"))
end

-- True for a C++ reference, which the FFI follows: what it leads to changes the value. Everything else lies here.
local function is_reference(at)
  local words = ffi.cast("uintptr_t *", here)
  for i = 0, SCRATCH / ffi.sizeof("uintptr_t") - 1 do words[i] = address_of(there) end
  fill(there, 0)
  local value = at(here)
  local name = type(value) == "cdata" and name_of(value) or ""
  if name:find "&" then return address_of(value) ~= address_of(here) end
  if name:find "__attribute__" then return false end -- a vector prints as where its copy is
  local before = tostring(value)
  fill(there, 1)
  return tostring(at(here)) ~= before
end

-- Of what is a number: the bytes that count, told by 1, 257, 0x01010101, and the sign by bits that are all set.
local function number_type(at, value)
  if value ~= math.floor(value) then
    local size = value < 1e-100 and 8 or 4
    return { kind = "other", name = size == 8 and "double" or "float", size = size }
  end
  local size = value == 1 and 1 or value == 257 and 2 or 4
  fill(here, 0xff)
  local signed = at(here) < 0
  return { kind = "integer", name = (signed and "int%d_t" or "uint%d_t"):format(8 * size), size = size,
           bits = signed and -8 * size or 8 * size }
end

local function enum_type(at, value, name)
  local size = ffi.sizeof(value)
  fill(here, 0xff)
  return { kind = "integer", name = name, size = size, bits = tonumber(at(here)) < 0 and -8 * size or 8 * size }
end

local function array_type(at, value, name)
  local element = function(address) return at(address)[0] end
  local count = tonumber(name:match "&%)%[(%d+)%]") or 0
  return { kind = "array", name = name:gsub("%(&%)", ""):gsub("&%)", ")"), size = ffi.sizeof(value), count = count,
           element = element }
end

local function cdata_type(at, value)
  local name = name_of(value)
  if name == "int64_t" or name == "uint64_t" then
    return { kind = "integer", name = name, size = 8, bits = name == "int64_t" and -64 or 64 }
  elseif name:find "__attribute__" or name == "complex" then
    return { kind = "other", name = name, size = ffi.sizeof(value) }
  elseif name:find "&%)?%[" then
    return array_type(at, value, name)
  elseif name:find " &$" then
    return { kind = "struct", name = name:sub(1, -3), size = ffi.sizeof(value) }
  elseif name:find "%*" then
    local pointer = ffi.typeof(value)
    return { kind = "pointer", name = name, size = ffi.sizeof(value),
             element = function(address) return ffi.cast(pointer, address)[0] end }
  end
  return enum_type(at, value, name)
end

local function examine(at)
  if is_reference(at) then return { kind = "other", name = "C++ reference", size = ffi.sizeof "void *" } end
  fill(here, 1)
  local value = at(here)
  if type(value) == "boolean" then return { kind = "boolean", name = "bool", size = 1 } end
  if type(value) == "number" then return number_type(at, value) end
  return cdata_type(at, value)
end

-- The handle of the type that at(address) shows; nil and the FFI's message where it shows none.
local function handle_of(at)
  local good, found = pcall(examine, at)
  if not good then return nil, (tostring(found):gsub("^.-:%d+: ", "")) end
  local handle = handles[found.name]
  if not handle then
    handle = #types + 1
    found.at = at
    types[handle], handles[found.name] = found, handle
  end
  return handle
end

-- The handle of the type DECLARATION ("struct request *", or what ffi.typeof returned); nil and the FFI's message where
-- it is none.
function ctype.parse(declaration)
  local good, parsed = pcall(ffi.typeof, declaration)
  if not good then return nil, parsed end
  local pointer
  good, pointer = pcall(ffi.typeof, "$ *", parsed)
  if not good then return nil, pointer end
  return handle_of(function(address) return ffi.cast(pointer, address)[0] end)
end

-- kind, name, size in bytes (nil where it is not known), bits of an integer (negative: signed), count of an array's
-- elements (0: not declared). Kinds: "integer" (enums too), "boolean", "pointer", "array", "struct" (unions too),
-- "other".
function ctype.describe(handle)
  local found = types[handle]
  return found.kind, found.name, found.size, found.bits, found.count
end

-- The type of what a pointer leads to or an array consists of; nil and the reason where that is not known, not declared
-- or no data.
function ctype.element(handle)
  local found = types[handle]
  if not found.element_handle then
    local element, why = handle_of(found.element)
    if not element then return nil, why end
    found.element_handle = element
  end
  return found.element_handle
end

-- The field NAME of a struct or union, those of its unnamed members too: the handle of its type, the offset in bytes,
-- and of a bitfield the lowest bit there and how many there are. Nil where there is no such field, with the reason
-- where it cannot be told.
function ctype.field(handle, name)
  local at = types[handle].at
  local offset, first_bit, bits = ffi.offsetof(at(here), name)
  if not offset then return nil end
  local function field(address) return at(ffi.cast("uint8_t *", address) - offset)[name] end
  if not bits then
    local found, why = handle_of(field)
    return found, found and offset or why
  end
  fill(here, 0xff)
  local value = field(here)
  local base = value == true and "bool" or value < 0 and "int32_t" or "uint32_t"
  return ctype.parse(base), offset + bit.rshift(first_bit, 3), bit.band(first_bit, 7), bits
end

return ctype
