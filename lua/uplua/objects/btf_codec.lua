-- Bytes that a C compiler has laid out ↔ Lua values, by what BTF says of them (src/lua/guest.c).
-- btf_codec.codec(type) is a codec as layout.lua makes them for records of its own: size, decode, encode, and of
-- structs view, point and unpoint.
--
-- Structs are records that cannot be written to, unions are structs whose fields share their bytes, arrays are tables
-- that begin at 0, arrays of char are strings, enums and pointers integers; what has no such meaning (double) is a
-- string of its bytes. In what is written, fields and elements that are left out are zero, as in C.
local bit = require "bit"
local contract = require "uplua.contract"
local ffi = require "ffi"
local layout = require "uplua.objects.layout"
local record = require "uplua.objects.record"
local text = require "uplua.base.text"

local btf_codec = {}

local bytes_of = ffi.typeof "uint8_t *"

local function scalar(type) return layout.compile { kind = type.kind, size = type.size } end

-- Text up to its first NUL, or all of it.
local function string_codec(type)
  local size = type.size
  return {
    size = size, kind = "string",
    decode = function(p)
      p = ffi.cast("const char *", p)
      return ffi.string(p, contract.C.strnlen(p, size))
    end,
    encode = function(p, v)
      if _G.type(v) ~= "string" then return ("a string is expected, not a %s"):format(_G.type(v)) end
      if #v > size then return ("'%s' is longer than the %d bytes of its place"):format(text.escape(v), size) end
      ffi.fill(p, size)
      ffi.copy(p, v, #v)
    end,
  }
end

local function bytes_codec(type)
  local size = type.size
  return {
    size = size, kind = "bytes",
    decode = function(p) return ffi.string(p, size) end,
    encode = function(p, v)
      if _G.type(v) ~= "string" or #v ~= size then
        return ("a string of its %d bytes is expected: its type is not known"):format(size)
      end
      ffi.copy(p, v, size)
    end,
  }
end

local function array_codec(type)
  local element, count = btf_codec.codec(type.element), type.count
  return {
    size = type.size, kind = "array",
    decode = function(p)
      local list = {}
      p = ffi.cast("const uint8_t *", p)
      for i = 0, count - 1 do list[i] = element.decode(p + i * element.size) end
      return list
    end,
    encode = function(p, v)
      if _G.type(v) ~= "table" then
        return ("a table of its elements from 0 on is expected, not a %s"):format(_G.type(v))
      end
      ffi.fill(p, type.size)
      for i, one in pairs(v) do
        if _G.type(i) ~= "number" or i < 0 or i >= count or i % 1 ~= 0 then
          return ("it has no element %s: they are 0 … %d"):format(tostring(i), count - 1)
        end
        local why = element.encode(ffi.cast(bytes_of, p) + i * element.size, one)
        if why then return ("[%d]: %s"):format(i, why) end
      end
    end,
  }
end

local signed_word, unsigned_word = scalar { kind = "i64", size = 8 }, scalar { kind = "u64", size = 8 }
local word = ffi.new "uint64_t[1]"

local function word_codec(field) return field.type.kind:sub(1, 1) == "i" and signed_word or unsigned_word end

-- The lowest bits of VALUE that FIELD has room for, as a number of 64 bits.
local function narrow(field, value)
  local unused = 64 - field.bits
  local shift = word_codec(field) == signed_word and bit.arshift or bit.rshift
  return shift(bit.lshift(value, unused), unused)
end

-- The bits of FIELD in the bytes from its offset on, which P leads to; it may begin in one word and end in the next.
local function get_bits(field, p)
  local value = bit.rshift(p[0] + 0ULL, field.first_bit)
  for i = 1, math.ceil((field.first_bit + field.bits) / 8) - 1 do
    value = bit.bor(value, bit.lshift(p[i] + 0ULL, 8 * i - field.first_bit))
  end
  word[0] = narrow(field, value)
  if field.type.kind == "bool" then return word[0] ~= 0 end
  return word_codec(field).decode(word)
end

local function set_bits(field, p, v)
  if type(v) == "boolean" then v = v and 1 or 0 end
  local why = word_codec(field).encode(word, v)
  if why then return why end
  local value = word[0]
  if narrow(field, value) ~= value then
    local most = bit.rshift(-1LL + 0ULL, 64 - field.bits)
    local high = word_codec(field) == signed_word and bit.rshift(most, 1) or most
    return ("%s is not in %s … %s"):format(text.integer(v), text.integer(high == most and 0 or -1LL - high),
                                           text.integer(high))
  end
  for i = 0, field.bits - 1 do
    local at = field.first_bit + i
    local mask = bit.lshift(1, at % 8)
    local one = bit.band(bit.rshift(value, i), 1) == 1
    local byte = math.floor(at / 8)
    p[byte] = one and bit.bor(p[byte], mask) or bit.band(p[byte], bit.bnot(mask))
  end
end

-- The fields of TYPE with those of its unnamed members, and their codecs.
local function flatten(type, base, fields)
  for _, field in ipairs(type.fields) do
    if field.name == "" and field.type.kind == "struct" then
      flatten(field.type, base + field.offset, fields)
    elseif field.name ~= "" then
      fields[#fields + 1] = {
        name = field.name, offset = base + field.offset, first_bit = field.first_bit, bits = field.bits,
        type = field.type, codec = not field.bits and btf_codec.codec(field.type) or nil,
      }
    end
  end
  return fields
end

local function read(field, p)
  if field.bits then return get_bits(field, p + field.offset) end
  return field.codec.decode(p + field.offset)
end

local function write(field, p, v)
  p = ffi.cast(bytes_of, p) + field.offset
  local why
  if field.bits then why = set_bits(field, p, v) else why = field.codec.encode(p, v) end
  return why and ("field '%s': %s"):format(field.name, why)
end

local function gone() error("this event is over: up.copy(ev) keeps it beyond the callback", 3) end

local function struct_codec(type)
  local fields, names, place = flatten(type, 0, {}), {}, {}
  local get, see = {}, {}
  for i, field in ipairs(fields) do
    names[i], place[field.name] = field.name, field
    get[field.name] = function(r) return read(field, r.__bytes) end
    see[field.name] = function(v)
      if v.__p == nil then gone() end
      return read(field, v.__p)
    end
  end
  local struct = ffi.typeof(("struct { const uint8_t __bytes[%d]; }"):format(math.max(type.size, 1)))
  local codec = { size = type.size, kind = "struct" }
  function codec.decode(p)
    local r = struct()
    ffi.copy(r, p, type.size)
    return r
  end
  function codec.encode(p, v)
    if ffi.istype(struct, v) then
      ffi.copy(p, v, type.size)
      return
    end
    if _G.type(v) ~= "table" and not record.is(v) then return "a record is expected, not a " .. _G.type(v) end
    ffi.fill(p, type.size)
    for name, value in pairs(v) do
      local field = place[name]
      if not field then
        return ("unknown field '%s'%s"):format(tostring(name), text.did_you_mean(tostring(name), names))
      end
      local why = write(field, p, value)
      if why then return why end
    end
  end
  function codec.point(view, p) view.__p = p end
  function codec.unpoint(view) view.__p = nil end
  record.define(struct, names, get, "a record that was read is a copy: write it with m:set(key, { … })")
  local function copy(view)
    if view.__p == nil then gone() end
    return codec.decode(view.__p)
  end
  codec.view = record.define(ffi.typeof "struct { const uint8_t *__p; }", names, see, "an event is read-only", copy)
  return codec
end

local MAKERS = { string = string_codec, bytes = bytes_codec, array = array_codec, struct = struct_codec }

-- The codec of TYPE.
function btf_codec.codec(type)
  type.codec = type.codec or (MAKERS[type.kind] or scalar)(type)
  return type.codec
end

-- A codec of SIZE bytes whose type nobody tells: strings of bytes.
function btf_codec.untyped(size) return bytes_codec { size = size } end

-- How C calls TYPE, for people: "struct event", "u32", "char[16]".
function btf_codec.name(type)
  if type.kind == "string" then return ("char[%d]"):format(type.size) end
  if type.kind == "array" then return ("%s[%d]"):format(btf_codec.name(type.element), type.count) end
  if type.kind == "struct" then
    return "struct " .. (type.name ~= "" and type.name or ("of %d bytes"):format(type.size))
  end
  return type.kind
end

return btf_codec
