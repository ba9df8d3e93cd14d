-- Bytes as numbers, booleans, characters and constants of enums: as plain values, and as text.
local bit      = require "bit"
local describe = require "uplua.types.describe"
local ffi      = require "ffi"
local text     = require "uplua.base.text"

local scalars = {}

local EXACT = 2 ^ 53 -- Lua's numbers hold integers up to it

-- The integer N, a 64-bit one, as a number where that holds it.
local function number_of(n)
  local number = tonumber(n)
  return number > -EXACT and number < EXACT and number or n
end

-- SIZE of BYTES from AT on (counted from 0), the lowest first, as 64 bits.
local function word_of(bytes, at, size)
  local word = 0ULL
  for i = math.min(size, 8) - 1, 0, -1 do word = bit.bor(bit.lshift(word, 8), 0ULL + bytes:byte(at + 1 + i)) end
  return word
end

-- The bit field FIELD from AT on, in the lowest bits: of a packed struct it may end within the ninth byte.
local function bits_of(bytes, at, field)
  local size = math.ceil((field.first_bit + field.bits) / 8)
  local word = bit.rshift(word_of(bytes, at, size), field.first_bit)
  return size > 8 and bit.bor(word, bit.lshift(word_of(bytes, at + 8, 1), 64 - field.first_bit)) or word
end

-- The lowest COUNT bits of WORD, as an integer.
local function integer_of(word, count, signed)
  local unused = 64 - count
  if unused > 0 then
    word = bit.lshift(word, unused)
    word = signed and bit.arshift(word, unused) or bit.rshift(word, unused)
  end
  return number_of(ffi.cast(signed and "int64_t" or "uint64_t", word))
end

-- x86's number of 80 bits.
local function extended_of(bytes, at)
  local high = tonumber(word_of(bytes, at + 8, 2))
  local sign, exponent = high >= 0x8000 and -1 or 1, high % 0x8000
  local fraction = tonumber(word_of(bytes, at, 8))
  if exponent == 0x7fff then return fraction == 2 ^ 63 and sign * math.huge or 0 / 0 end
  return sign * math.ldexp(fraction, exponent - 16383 - 63)
end

local single, double = ffi.new "float[1]", ffi.new "double[1]"

-- Infinity, or no number at all, of SIZE bytes whose exponent has all bits set; else nil. By bytes: what is no number
-- has bits in which LuaJIT keeps its other values, so that it takes what it loads for one of these, such as nil.
local function special_of(bytes, at, size)
  local first, second = bytes:byte(at + size), bytes:byte(at + size - 1)
  local exponent, rest = first % 0x80, 0x80 -- of the second byte as many bits are the exponent's
  if size == 8 then rest = 0x10 end
  if exponent ~= 0x7f or second < 0x100 - rest then return nil end
  local fraction = second % rest
  for i = 1, size - 2 do fraction = bit.bor(fraction, bytes:byte(at + i)) end
  return fraction == 0 and (first >= 0x80 and -1 or 1) * math.huge or 0 / 0
end

local function float_of(type, bytes, at)
  local value = type.size == 4 and single or type.size == 8 and double
  if value then
    local special = special_of(bytes, at, type.size)
    if special then return special end
    ffi.copy(value, bytes:sub(at + 1, at + type.size), type.size)
    return tonumber(value[0])
  end
  return type.extended and extended_of(bytes, at) or nil
end

-- No more digits than tell the number apart.
local function float_text(type, value)
  for digits = type.size == 4 and 6 or 15, 17 do
    local shown = ("%%.%dg"):format(digits):format(value)
    local again = tonumber(shown)
    if again == value or type.size == 4 and again and tonumber(ffi.cast("float", again)) == value then return shown end
  end
  return tostring(value)
end

-- SIZE bytes that the fields of RECORD called NAMES (from 0 on) hold, eight each.
function scalars.bytes(record, names, size)
  local words = ffi.new("uint64_t[?]", #names + 1)
  for i = 0, #names do
    local word = record[names[i]] or 0
    words[i] = type(word) == "number" and word < 0 and ffi.cast("int64_t", word) or word
  end
  return ffi.string(words, size)
end

-- An address, N, as text.
function scalars.address(n) return n == 0 and "NULL" or text.format("0x%x", n) end

-- The names of an enum by its numbers' digits, of the constants that are single bits also as a list.
local function names_of(type)
  if not type.names then
    type.names, type.flags = {}, {}
    for _, constant in ipairs(type.values) do
      type.names[constant.number] = type.names[constant.number] or constant.name
      local number = tonumber(constant.number)
      if number > 0 and number < 2 ^ 53 and math.log(number) / math.log(2) % 1 == 0 then
        type.flags[#type.flags + 1] = { number, constant.name }
      end
    end
  end
  return type.names, type.flags
end

-- The name of VALUE, of the enum TYPE: "RED", "READ|WRITE"; nil where it has none.
local function constant_of(type, value)
  local names, flags = names_of(type)
  local name = names[text.integer(value)]
  if name or tonumber(value) <= 0 then return name end
  local parts, rest = {}, tonumber(value)
  for _, flag in ipairs(flags) do
    if math.floor(rest / flag[1]) % 2 == 1 then
      parts[#parts + 1], rest = flag[2], rest - flag[1]
    end
  end
  return rest == 0 and table.concat(parts, "|") or nil
end

-- The integer VALUE of TYPE: the plain value, and its text.
function scalars.integer(type, value)
  local digits = text.integer(value)
  local name = type.values and constant_of(type, value)
  if name then return name, name end
  local is_char = describe.is_char(type) or type.own == "char" -- Rust's has four bytes
  local character = is_char and value >= 32 and value < 127
  return value, character and ("%s '%s'"):format(digits, string.char(tonumber(value))) or digits
end

-- TYPE's value, which is AT so many of BYTES, of the FIELD where that is a bit field: the plain value and its text; nil
-- where BYTES end before, or TYPE is no such type.
function scalars.decode(type, bytes, at, field)
  local bits = field and field.bits
  local size = bits and math.ceil((field.first_bit + bits) / 8) or type.size or 0
  if size == 0 or at + size > #bytes then return nil end
  if type.kind == "boolean" then
    local value = bits and integer_of(bits_of(bytes, at, field), bits) or bytes:byte(at + 1)
    return value ~= 0, tostring(value ~= 0)
  end
  if type.kind == "float" then
    local value = float_of(type, bytes, at)
    if not value then return nil end
    return value, float_text(type, value)
  end
  if type.kind == "pointer" then
    local address = number_of(word_of(bytes, at, 8))
    return address, scalars.address(address)
  end
  if type.kind ~= "integer" then return nil end
  if type.size > 8 and not bits then
    local shown = ("0x%s"):format((bytes:sub(at + 1, at + type.size):reverse():gsub(".", function(c)
      return ("%02x"):format(c:byte())
    end):gsub("^0+(.)", "%1")))
    return shown, shown
  end
  local word = bits and bits_of(bytes, at, field) or word_of(bytes, at, size)
  return scalars.integer(type, integer_of(word, bits or 8 * size, (type.bits or 0) < 0))
end

return scalars
