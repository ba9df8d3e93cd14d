-- Kernel bytes ↔ Lua values by layout (doc/internals.md describes LAYOUT). Each layout is compiled once, into Lua
-- source with its offsets and types as constants, so that LuaJIT turns the reading of a field into a load:
--
--   codec.size            bytes
--   codec.decode(p)       the Lua value of the bytes at p (uint8_t *); a record is copied
--   codec.encode(p, v, as_cut)  writes v; returns nothing, or why v does not fit. AS_CUT: strings that end in "…" have
--                         been cut
--   codec.merges          true: keys whose bytes differ may be equal in Lua (uplua.stack.symbol)
--   codec.view()          for records: a view, an object to be pointed at a record by codec.point(view, p)
--
-- Integers up to 2^53 are numbers, beyond that int64_t or uint64_t cdata.
-- The string in a buffer that was too small for it in the handler ends in "…", and such a string is written back as it
-- was.
local ffi = require "ffi"
local buffer = require "uplua.objects.buffer"
local contract = require "uplua.contract"
local record = require "uplua.objects.record"
local text = require "uplua.base.text"

local C = contract.C

local layout = {}

local INTEGER = { i8 = "int8_t", i16 = "int16_t", i32 = "int32_t", i64 = "int64_t",
                  u8 = "uint8_t", u16 = "uint16_t", u32 = "uint32_t", u64 = "uint64_t" }
local BITS = { i8 = 7, i16 = 15, i32 = 31, u8 = 8, u16 = 16, u32 = 32 }

local int64, uint64, istype = ffi.typeof("int64_t"), ffi.typeof("uint64_t"), ffi.istype

-- Why V is not a 64-bit integer, or nothing. The bits count: a u64 field takes -1, an i64 field an address above 2^63.
local function not_integer(v)
  local kind = type(v)
  if kind == "number" then
    if v ~= math.floor(v) then return ("%s is not an integer"):format(tostring(v)) end
    if v < -2 ^ 63 or v >= 2 ^ 63 then return ("%g does not fit into 64 bits"):format(v) end
  elseif not istype(int64, v) and not istype(uint64, v) then
    local what = kind == "cdata" and "a record" or kind == "nil" and kind or "a " .. kind
    return ("an integer is expected, not %s"):format(what)
  end
end

local function not_in_range(v, low, high)
  local why = not_integer(v)
  if why then return why end
  local n = tonumber(v)
  if n < low or n > high then return ("%s is not in %d … %d"):format(text.integer(v), low, high) end
end

-- A string that did not fit in the handler ends so (src/compile/lower/string.c: the last byte of its buffer is not 0).
local CUT = "…"

-- The string in the SIZE bytes at P.
local function get_string(p, size)
  local s = ffi.string(p, C.strnlen(p, size - 1))
  return p[size - 1] == 0 and s or s .. CUT
end

-- Writes V into the SIZE bytes at P, which are zero; returns nothing, or why it does not fit. A string that was read as
-- cut is written as cut, if it does not fit otherwise or if AS_CUT says so.
local function put_string(p, v, size, as_cut)
  if type(v) ~= "string" then return ("a string is expected, not a %s"):format(type(v)) end
  if v:find("\0", 1, true) then return "a string with a NUL byte cannot be stored: it ends there" end
  local is_cut = v:sub(-#CUT) == CUT and (as_cut or #v >= size)
  local length = is_cut and #v - #CUT or #v
  if length >= size then return ("'%s' is longer than the %d bytes of its place"):format(text.escape(v), size - 1) end
  ffi.copy(p, v, length)
  p[size - 1] = is_cut and 1 or 0
end

local HEADER, words = contract.BUFFER_HEADER, ffi.typeof "const uint64_t *"

-- The buffer in the bytes at P (src/compile/lower/buffer.c).
local function get_bytes(p)
  local header = ffi.cast(words, p)
  local size = header[0]
  return buffer.of(ffi.string(p + HEADER, tonumber(header[1])), size <= 9007199254740992ULL and tonumber(size) or size)
end

-- The same buffer's bytes alone, a string, and how many there were: uplua's own modules read them so of a record, as
-- its fields "NAME.bytes" and "NAME.size", which takes no object for each.
local function get_plain_bytes(p) return ffi.string(p + HEADER, tonumber(ffi.cast(words, p)[1])) end
local function get_size(p)
  local size = ffi.cast(words, p)[0]
  return size <= 9007199254740992ULL and tonumber(size) or size
end

-- Writes V, a string or a buffer, into the SIZE bytes at P, which are zero; returns nothing, or why it does not fit.
local function put_bytes(p, v, size)
  local bytes, full = buffer.parts(v)
  if not bytes then return ("a string or a buffer is expected, not a %s"):format(type(v)) end
  if #bytes > size - HEADER then
    return ("%d bytes are more than the %d of their place"):format(#bytes, size - HEADER)
  end
  local header = ffi.cast("uint64_t *", p)
  header[0], header[1] = full, #bytes
  ffi.copy(p + HEADER, bytes, #bytes)
end

-- What the two above say of data that may be right elsewhere, as a name that the target has chosen.
local TOO_MUCH = { "^a string with a NUL byte", "is longer than the %d+ bytes of its place$", "of their place$" }

-- True if WHY, of an encoder, says that a map cannot hold such a string or buffer: asked for, it is not there.
function layout.is_too_much(why)
  for _, pattern in ipairs(TOO_MUCH) do
    if why:find(pattern) then return true end
  end
  return false
end

local function stack_id(v)
  if type(v) == "userdata" then return v.id end
  if istype(uint64, v) or istype(int64, v) or type(v) == "number" then return v end
end

local function not_stack(v)
  if not stack_id(v) then return ("a stack is expected, not a %s"):format(type(v)) end
end

local function signed(v) return type(v) == "number" and ffi.cast(int64, v) or v end

-- Stacks read maps and maps hold stacks: their module is loaded when the first layout with a stack is compiled.
local function intern_stack() return require("uplua.stack.stack").intern end

local function gone(level) error("this event is over: up.copy(ev) keeps it beyond the callback", level or 3) end

local function unknown_field(v, names)
  local known, list = {}, {}
  for _, name in ipairs(names) do known[name], list[#list + 1] = true, tostring(name) end
  local is_record = record.is(v)
  for name in pairs(v) do
    if not known[name] then
      if is_record then return ("its field '%s' has no place here"):format(tostring(name)) end
      return ("unknown field '%s'%s"):format(tostring(name), text.did_you_mean(tostring(name), list))
    end
  end
end

local helpers = {
  ffi = ffi, get_string = get_string, put_string = put_string, get_bytes = get_bytes,
  put_bytes = put_bytes, get_plain_bytes = get_plain_bytes, get_size = get_size, intern = intern_stack,
  gone = gone, signed = signed,
  not_integer = not_integer, not_in_range = not_in_range, not_stack = not_stack, stack_id = stack_id,
  unknown_field = unknown_field,
  is_record = record.is,
}

local PRELUDE = [[
local h, child, S, W, names = ...
local ffi, get_string, put_string, gone = h.ffi, h.get_string, h.put_string, h.gone
local get_bytes, put_bytes = h.get_bytes, h.put_bytes
local not_integer, not_in_range, not_stack = h.not_integer, h.not_in_range, h.not_stack
local stack_id, signed, unknown_field, is_record = h.stack_id, h.signed, h.unknown_field, h.is_record
local cast, copy, fill, istype, new = ffi.cast, ffi.copy, ffi.fill, ffi.istype, ffi.new
local tonumber, type, band = tonumber, type, bit.band
local intern = %s
]]

local function prelude(l)
  local stacks = l.kind == "stack"
  for _, field in ipairs(l.fields or {}) do stacks = stacks or field.layout.kind == "stack" end
  return PRELUDE:format(stacks and "h.intern()" or "nil")
end

-- Statements that return the Lua value of the C lvalue %s, by kind. The parentheses: LuaJIT compiles no more than 15
-- tail calls in a row, and a record has that many fields.
local READ = {
  i64 = [[local x = %s
  if x <= 9007199254740992LL and x >= -9007199254740992LL then return (tonumber(x)) end
  return x]],
  u64 = [[local x = %s
  if x <= 9007199254740992ULL then return (tonumber(x)) end
  return x]],
  bool = "return %s ~= 0", stack = "return (intern(%s))", string = "return (get_string(%s, %d))",
  bytes = "return (get_bytes(%s))",
}

-- Such statements for PLACE of layout L.
local function reading(l, place, number)
  local statements = READ[l.kind] or INTEGER[l.kind] and "return %s"
  if statements then return statements:format(place, l.size) end
  return ("return child[%d].decode(%s)"):format(number, place)
end

-- Why x cannot be written, and what is written, by kind.
local WRITE = {
  i64 = { "not_integer(x)", "signed(x)" }, u64 = { "not_integer(x)", "signed(x)" },
  bool = { [[type(x) ~= "boolean" and "a boolean is expected, not a " .. type(x)]], "x and 1 or 0" },
  stack = { "not_stack(x)", "stack_id(x)" },
}
for kind, bits in pairs(BITS) do
  local low = kind:sub(1, 1) == "i" and -2 ^ bits or 0
  WRITE[kind] = { ("not_in_range(x, %d, %d)"):format(low, 2 ^ bits - 1), "tonumber(x)" }
end

-- Statements that write x to PLACE, or return why not, after PREFIX.
local function writing(l, place, prefix, number)
  local write = WRITE[l.kind]
  local why = write and write[1] or l.kind == "string" and ("put_string(%s, x, %d, as_cut)"):format(place, l.size)
    or l.kind == "bytes" and ("put_bytes(%s, x, %d)"):format(place, l.size)
    or ("child[%d].encode(%s, x, as_cut)"):format(number, place)
  local statements = ("local why = %s if why then return %s .. why end"):format(why, prefix)
  return write and ("%s\n  %s = %s"):format(statements, place, write[2]) or statements
end

-- The C type of an integer, boolean or id; a declared boolean has one byte.
local function word_of(l) return INTEGER[l.kind] or l.size == 1 and "uint8_t" or "uint64_t" end

local function compile_scalar(l)
  local ctype = word_of(l)
  local read, write = "cast(P, p)[0]", "cast(P, p)[0]"
  local is_text = l.kind == "string" or l.kind == "bytes"
  if is_text then ctype, read, write = "char", "cast(P, p)", "cast(P, p)" end
  local source = prelude(l) .. ([[
local P = ffi.typeof("%s *")
local codec = { size = %d }
function codec.decode(p)
  %s
end
function codec.encode(p, x, as_cut)
  %s
  %s
end
return codec
]]):format(ctype, l.size, reading(l, read), is_text and ("fill(p, %d)"):format(l.size) or "",
           writing(l, write, "\"\""))
  return assert(loadstring(source, "@uplua/layout (codec)"))(helpers)
end

-- The struct of record layout L; its fields are __1, __2, … and __presence.
local function struct_of(l, qualifier)
  local members = {}
  for i, field in ipairs(l.fields) do
    members[i] = { offset = field.offset, size = field.layout.size, layout = field.layout, name = "__" .. i }
  end
  if l.presence then
    members[#members + 1] = { offset = l.presence, size = 8, layout = { kind = "u64" }, name = "__presence" }
  end
  table.sort(members, function(a, b) return a.offset < b.offset end)
  local source, at = {}, 0
  local function pad(to)
    assert(to >= at, "fields of a layout overlap")
    if to > at then source[#source + 1] = ("uint8_t __pad%d[%d];"):format(at, to - at) end
  end
  for _, member in ipairs(members) do
    pad(member.offset)
    local kind = member.layout.kind
    if kind == "string" or kind == "bytes" then
      source[#source + 1] = ("%s char %s[%d];"):format(qualifier, member.name, member.size)
    elseif kind == "record" or kind == "array" or kind == "symbol" then
      source[#source + 1] = ("%s uint8_t %s[%d];"):format(qualifier, member.name, member.size)
    else
      source[#source + 1] = ("%s %s %s;"):format(qualifier, word_of(member.layout), member.name)
    end
    at = member.offset + member.size
  end
  pad(l.size)
  return ffi.typeof(("struct __attribute__((packed)) { %s }"):format(table.concat(source, " ")))
end

local function literal(name) return type(name) == "number" and ("%d"):format(name) or ("%q"):format(name) end

local function compile_record(l)
  local children, names, source, merges = {}, {}, { prelude(l) }, nil
  local function put(...) source[#source + 1] = (...):format(select(2, ...)) end
  put "local get, see = {}, {}\n"
  for i, field in ipairs(l.fields) do
    names[i] = field.name
    local kind = field.layout.kind
    if kind == "record" or kind == "array" or kind == "symbol" then children[i] = layout.compile(field.layout) end
    merges = merges or children[i] and children[i].merges
    local body = reading(field.layout, "r.__" .. i, i)
    if field.presence then
      body = ("if band(r.__presence, 0x%xULL) == 0 then return nil end\n  %s"):format(2 ^ field.presence, body)
    end
    local name = literal(field.name)
    put("get[%s] = function(r)\n  %s\nend\n", name, body)
    local function see(label, statements)
      put("see[%s] = function(v)\n  local r = v.__p if r == nil then gone(4) end\n  %s\nend\n", label, statements)
    end
    see(name, body)
    if kind == "bytes" then
      see(literal(field.name .. ".bytes"), (body:gsub("get_bytes", "h.get_plain_bytes")))
      see(literal(field.name .. ".size"), (body:gsub("get_bytes", "h.get_size")))
    end
  end

  -- The field ".fill" is a function of the view and a table, into which it puts all fields: those who read many would
  -- have LuaJIT call one function for all of them, of which it inlines no more than some.
  put "local function put_all(v, t)\n  local r = v.__p if r == nil then gone() end\n"
  for _, field in ipairs(l.fields) do
    if field.layout.kind == "bytes" then
      for _, part in ipairs { ".bytes", ".size" } do
        put("  t[%s] = see[%s](v)\n", literal(field.name .. part), literal(field.name .. part))
      end
    else
      put("  t[%s] = get[%s](r)\n", literal(field.name), literal(field.name))
    end
  end
  put "end\nsee['.fill'] = function() return put_all end\n"

  put("local SP, WP = ffi.typeof('const $ *', S), ffi.typeof('$ *', W)\n")
  put("local codec = { size = %d, get = get, see = see }\n", l.size)
  put("function codec.decode(p)\n  local r = S()\n  copy(r, p, %d)\n  return r\nend\n", l.size)
  put("function codec.point(v, p) v.__p = cast(SP, p) end\n")
  put("function codec.unpoint(v) v.__p = nil end\n")
  put("function codec.keep(v)\n  local p = v.__p if p == nil then gone() end\n")
  put("  local r = S()\n  copy(r, p, %d)\n  return r\nend\n", l.size)
  put("function codec.encode(p, v, as_cut)\n  if istype(S, v) then copy(p, v, %d) return end\n", l.size)
  put("  if type(v) ~= 'table' and not is_record(v) then return 'a %s is expected, not a ' .. type(v) end\n",
      type(names[1]) == "number" and "tuple" or "record")
  put("  local unknown = unknown_field(v, names) if unknown then return unknown end\n")
  put("  fill(p, %d)\n  local w = cast(WP, p)\n", l.size)
  for i, field in ipairs(l.fields) do
    local prefix = ("%q"):format(("field '%s': "):format(tostring(field.name)))
    put("  do local x = v[%s]\n", literal(field.name))
    if field.presence then
      put("  if x ~= nil then\n  w.__presence = w.__presence + 0x%xULL\n  %s\n  end\n", 2 ^ field.presence,
          writing(field.layout, "w.__" .. i, prefix, i))
    else
      put("  if x == nil then return %q end\n  %s\n", ("field '%s' is missing"):format(tostring(field.name)),
          writing(field.layout, "w.__" .. i, prefix, i))
    end
    put("  end\n")
  end
  put("end\nreturn codec\n")

  local struct, writable = struct_of(l, "const"), struct_of(l, "")
  local make = assert(loadstring(table.concat(source), "@uplua/layout (codec)"))
  local codec = make(helpers, children, struct, writable, names)
  codec.merges = merges
  record.define(struct, names, codec.get, "a record read from a map is a copy: write it with m:set(key, { … })")
  codec.view = record.define(ffi.typeof("struct { const $ *__p; }", struct), names, codec.see,
                             "an event is read-only", codec.keep)
  return codec
end

-- An array is a table of its elements, from 1 on, where one that is not there is nil.
local function compile_array(l)
  local source = prelude(l) .. ([[
local E = ffi.typeof("%s *")
local PW = ffi.typeof "uint64_t *"
local codec = { size = %d }
local function get(e) %s end
function codec.decode(p)
  local list, elements, there = {}, cast(E, p + %d), %s
  for i = 0, %d do
    if there == nil or band(bit.rshift(there, i), 1ULL) ~= 0 then list[i + 1] = get(elements[i]) end
  end
  return list
end
function codec.encode(p, v)
  if type(v) ~= "table" then return "an array is expected, not a " .. type(v) end
  fill(p, %d)
  local elements, there = cast(E, p + %d), 0ULL
  for i, x in pairs(v) do
    if type(i) ~= "number" or i < 1 or i > %d or i %% 1 ~= 0 then return "an array's elements are [1] … [%d]" end
    local why = %s if why then return "element [" .. i .. "]: " .. why end
    elements[i - 1], there = %s, bit.bor(there, bit.lshift(1ULL, i - 1))
  end
  %s
end
return codec
]]):format(word_of(l.element), l.size, reading(l.element, "e"), l.offset,
           l.presence and ("cast(PW, p + %d)[0]"):format(l.presence) or "nil", l.count - 1, l.size, l.offset, l.count,
           l.count, WRITE[l.element.kind][1], WRITE[l.element.kind][2],
           l.presence and ("cast(PW, p + %d)[0] = there"):format(l.presence) or "")
  return assert(loadstring(source, "@uplua/layout (codec)"))(helpers)
end

-- A text that is equal for equal layouts.
local function signature(l)
  if l.kind == "array" then
    return ("%s%d[%d]@%d?%s"):format(l.element.kind, l.size, l.count, l.offset, tostring(l.presence))
  end
  if l.kind ~= "record" then return ("%s%d"):format(l.kind, l.size) end
  local parts = {}
  for i, field in ipairs(l.fields) do
    parts[i] = ("%s@%d?%s:%s")
      :format(literal(field.name), field.offset, tostring(field.presence), signature(field.layout))
  end
  return ("{%d,%s %s}"):format(l.size, tostring(l.presence), table.concat(parts, ","))
end

local compiled = {} -- signature → codec, which depends on nothing else: the same in all runs

-- The codec of LAYOUT; equal layouts share one, and with it the type of their records. A codec of another maker's is
-- its own.
function layout.compile(l)
  if l.decode then return l end
  if l.kind == "symbol" then return require("uplua.stack.symbol").codec end
  local name = signature(l)
  local codec = compiled[name]
  if not codec then
    local compile = l.kind == "record" and compile_record or l.kind == "array" and compile_array
      or (READ[l.kind] or INTEGER[l.kind]) and compile_scalar
    if not compile then error("unknown kind of layout: " .. tostring(l.kind)) end
    codec = compile(l)
    codec.kind = l.kind
    compiled[name] = codec
  end
  return codec
end

local ITERATOR = [[
local decode_key, decode_value, key_size, value_size, free = ...
return function(entries)
  local i, count = -1, tonumber(entries.count)
  local keys, values = entries.keys, entries.values
  return function()
    i = i + 1
    if i < count then
      return decode_key(keys + i * key_size), decode_value(values + i * value_size)
    end
    if entries then
      free(entries)
      entries, count = nil, 0
    end
  end
end
]]

-- A function that iterates over map entries (map:read()) and frees them at the end. Made anew for each map, so that the
-- traces of one map's loops are not disturbed by another's.
function layout.iterator(decode_key, key_size, decode_value, value_size)
  local free = require("uplua.base.map").free
  return assert(loadstring(ITERATOR, "@uplua/layout (entries)"))(decode_key, decode_value, key_size, value_size, free)
end

return layout
