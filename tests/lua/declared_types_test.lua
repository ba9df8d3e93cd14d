-- Declared types: memory of the declared widths, what fits into it, and what is said of the rest.
local ffi = require "ffi"
local declared_type = require "uplua.objects.declared_type"
local layout = require "uplua.objects.layout"
local setup = require "uplua.probe.setup"
local tap = require "tap"
local test_run = require "uplua.probe.providers.testrun"
local up = require "uplua"
local ok, is, like = tap.ok, tap.is, tap.like

-- Where fields lie.
local function places(l)
  local parts = {}
  for i, field in ipairs(l.fields) do parts[i] = ("%s@%d:%d"):format(field.name, field.offset, field.layout.size) end
  return table.concat(parts, " ") .. " " .. l.size
end
is(places(declared_type.layout { n = "u64", name = "string[32]", ok = "bool" }), "name@0:32 n@32:8 ok@40:1 48",
  "a record: the largest first")
is(places(declared_type.layout { b = "u8", a = "u8", d = "i32", c = "u16", e = "stack" }),
  "e@0:8 d@8:4 c@12:2 a@14:1 b@15:1 16", "without gaps")
is(places(declared_type.layout { "u8", "u32", "u8", "i64", "string[20]" }), "1@0:1 2@4:4 3@8:1 4@16:8 5@24:24 48",
  "a tuple: in its order, aligned as in C")
is(places(declared_type.layout { at = { x = "i16", y = "u8" }, n = "i8" }), "at@0:8 n@8:1 16", "a record in a record")
is(declared_type.layout("string").size, 64, "a string without a size has 64 bytes")
is(declared_type.layout("u16").size, 2, "a scalar has its own")

-- What is no type, at the line that declares it.
for _, case in ipairs {
  { { key = "u33" }, "hash: option 'key': 'u33' is not a type; did you mean 'u32'" },
  { { key = "string[0]" }, "'string%[0%]': a string has 1 to 4096 bytes" },
  { { key = "string[5000]" }, "a string has 1 to 4096 bytes" },
  { { value = {} }, "option 'value': {} is not a type; write \"u32\", \"string%[32%]\", … or { name = \"u64\", … }" },
  { { value = 5 }, "5 is not a type; write" },
  { { value = { n = "u64", "u32" } }, "a record's fields have names, a tuple's have none: not both in one type" },
  { { value = { [2] = "u64" } }, "a record's fields have names" },
  { { key = { "u8", nil, "u8" } }, "a tuple's fields are numbered from 1 without gaps" },
  { { value = { at = { x = "int" } } }, "field 'at': field 'x': 'int' is not a type" },
  { { type = "u32" }, "unknown option 'type'" },
} do
  local good, message = pcall(function() return (up.hash(case[1])) end)
  ok(not good, "refused")
  like(message, "declared_types_test.lua:%d+: .*" .. case[2], "… with this message")
end

-- Every width, on both sides.
local wide = up.hash {
  key = "u32",
  value = { i8 = "i8", i16 = "i16", i32 = "i32", i64 = "i64", u8 = "u8", u16 = "u16", u32 = "u32", u64 = "u64",
    ok = "bool", s = "string[16]" },
}
local out, flags, texts = up.hash(), up.hash(), up.hash()
local keys = up.hash { key = { "u32", "i8", "string[16]" }, value = "i16" }
local nested = up.hash { key = { at = { x = "i16", y = "u8" }, n = "i8" },
  value = { at = { x = "i16", y = "u8" }, n = "i8" } }
local counts, spread, highs = up.count { key = "i16" }, up.stats { key = { "u8", "u16" } }, up.sum { key = "string[8]" }
local recent, each = up.lru_hash { key = "u16", value = "u32", max = 100 },
  up.percpu_hash { key = "i8", value = { n = "u32", m = "i8" } }
local short, pair = up.hash { value = "string[8]" }, up.hash { value = { s = "string[8]", t = "string[8]" } }
local copies, second = up.hash { value = { n = "u32", m = "i8" } }, up.hash { value = { m = "i8", n = "u32" } }

wide:set(4000000000, { i8 = -128, i16 = -32768, i32 = -2147483648, i64 = -1, u8 = 255, u16 = 65535, u32 = 4294967295,
  u64 = 0xffffffffffffffffULL, ok = true, s = "fifteen letters" })
local good, message = pcall(function() wide[-1] = {} end)
like(message, "declared_types_test.lua:%d+: hash: as a key, %-1 is not in 0 … 4294967295",
  "a key that does not fit is refused before there is a handler")
good, message = pcall(function() keys[{ 1, 200, "x" }] = 1 end)
like(message, "hash: as a key, field '2': 200 is not in %-128 … 127", "in a tuple")
good, message = pcall(function() recent[1] = 2 ^ 32 end)
like(message, "lru_hash: as a value, 4294967296 is not in 0 … 4294967295", "a value")

local store = test_run.handler("store", function(e)
  wide[up.u32(e.arg0)] = { i8 = up.i8(e.arg1), i16 = up.i16(e.arg1), i32 = up.i32(e.arg1), i64 = e.arg1,
    u8 = up.u8(e.arg1), u16 = up.u16(e.arg1), u32 = up.u32(e.arg1), u64 = e.arg1, ok = e.arg1 > 0, s = e.comm }
  local r = wide[up.u32(e.arg0)]
  if r then
    out.sum = r.i8 + r.i16 + r.i32 + r.u8 + r.u16 + r.u32
    flags.less = r.u64 < 5
    flags.ok = r.ok texts.s = r.s
    r.u32 = up.u32(r.u32 + 1)
    r.i32 = up.i32(r.i32 - e.arg1)
    r.u8 = up.u8(r.u8 + 1)
    r.i64 = r.i64 + 1
  end
end)
local script_set = test_run.handler("script_set", function(e)
  local r = wide[4000000000]
  if r then
    out.i8, out.i16, out.i32, out.u8, out.u16, out.u32, out.u64 = r.i8, r.i16, r.i32, r.u8, r.u16, r.u32, r.u64
  end
end)
local all = test_run.handler("all", function(e)
  local k = { up.u32(e.arg0), up.i8(-1), e.comm }
  keys[k] = up.i16((keys[{ up.u32(e.arg0), -1, e.comm }] or 0) - 300)
  local p = { at = { x = up.i16(e.arg0), y = 7 }, n = 5 }
  nested[p] = { at = { x = -5, y = 200 }, n = up.i8(e.arg0) }
  counts[up.i16(e.arg0)]:inc()
  counts[-30000]:inc()
  spread[{ 200, up.u16(e.arg0) }]:add(e.arg0)
  highs[e.comm]:add(2)
  recent[up.u16(e.arg0)] = up.u32((recent[up.u16(e.arg0)] or 0) + 7)
  if not each[-1] then each[-1] = { n = 1, m = -1 } end
  each[-1].n = up.u32(each[-1].n + 2)
  short[1] = up.str(e.arg1) or "?"
  short[2] = up.str(e.arg2) or "?"
  short[3] = e.comm
  local both = { s = "a longer text", t = up.str(e.arg2, 9) or "?" }
  pair[1] = both
  copies[e.arg0] = { n = e.pid, m = -5 }
  local c = copies[e.arg0]
  if c then second[e.arg0] = up.copy(c) end
end)
setup.commit()

script_set {}
is(("%d %d %d %d %d %d"):format(out.i8, out.i16, out.i32, out.u8, out.u16, out.u32),
  "-128 -32768 -2147483648 255 65535 4294967295", "a handler reads what the script has set, signs and all")
ok(out.u64 == -1, "64 bits")
store { 23, -2 }
is(out.sum, -6 + 254 + 65534 + 4294967294, "narrow fields are extended by their sign")
is(flags.less, false, "a u64 field is unsigned")
is(flags.ok, false, "a boolean")
is(texts.s, "uplua", "a string")
local r = wide[23]
is(r.u32, 4294967295, "an addition cut to 32 bits")
is(r.i32, 0, "a subtraction")
is(r.u8, 255, "and to 8")
is(r.i64, -1, "none is cut where it fits")
is(wide[4000000000].s, "fifteen letters", "a string of the script")
good, message = pcall(function() wide:set(1, { i8 = 128 }) end)
like(message, "wide: as a value, field 's' is missing", "the script gives all fields")
local seven, eight = ffi.new("char[?]", 16, "seven77"), ffi.new("char[?]", 16, "eight888")
for _ = 1, 3 do all { 65537, ffi.cast("intptr_t", seven), ffi.cast("intptr_t", eight) } end
is(short[1], "seven77", "a string that just fits into what is declared")
is(short[2], "eight88…", "one that does not is cut, and shows it")
is(short[3], "uplua", "a shorter one from a larger buffer")
is(pair[1].s, "a longe…", "a constant in a record")
is(pair[1].t, "eight88…", "a string in it")
is(keys[{ 65537, -1, "uplua" }], -900, "a tuple of widths as a key; a value of 16 bits")
is(keys:size(), 1, "the same key each time, whatever lies between the fields")
is(nested[{ at = { x = 1, y = 7 }, n = 5 }].at.y, 200, "records in records, as keys and values")
is(nested[{ at = { x = 1, y = 7 }, n = 5 }].n, 1, "cut as said")
is(counts[1], 3, "an aggregation's declared key")
is(counts[-30000], 3, "a constant that fits needs no cast")
is(spread[{ 200, 1 }].count, 3, "with a tuple")
is(highs.uplua, 6, "with a string")
is(recent[1], 21, "lru")
local total = 0
for cpu = 0, #each[-1] do total = total + each[-1][cpu].n end
is(total, 7, "percpu_hash: the CPUs' values together")
is(copies[65537].m, -5, "a field of one byte")
is(copies[65537].n, require("uplua.core").system.pid(), "e.pid fits into 32 bits")
is(second[65537].n, copies[65537].n, "a record may be copied to where the same is declared")
is(ffi.sizeof(wide[23]),
  layout.compile(declared_type.layout { i8 = "i8", i16 = "i16", i32 = "i32", i64 = "i64", u8 = "u8", u16 = "u16",
    u32 = "u32", u64 = "u64", ok = "bool", s = "string[16]" }).size, "the script's copy has the declared size")
is(ffi.sizeof(wide[23]), 48, "48 bytes")
is(#setup.ledger(), 0, "nothing is lost")

-- What does not fit is refused, with what to write.
local m = up.hash { key = "u32", value = { n = "u16", s = "string[8]" } }
local v, s8 = up.hash { value = "i8" }, up.hash { value = "string[8]" }
for _, case in ipairs {
  { function(e) m[e.arg0] = nil end,
    "the key of 'm' is an integer here, and declared as u32: say up.u32%(x%) to cut it" },
  { function(e) m[-1] = nil end, "the key of 'm' is an integer here, and declared as u32: say up.u32%(x%)" },
  { function(e) m[e.comm] = nil end, "the key of 'm' is a string here, and declared as u32$" },
  { function(e) v[1] = e.arg0 end, "the value of 'v' is an integer here, and declared as i8: say up.i8%(x%)" },
  { function(e) v[1] = 128 end, "the value of 'v' is an integer here, and declared as i8" },
  { function(e) v[1] = up.u8(e.arg0) end, "the value of 'v' is an integer here, and declared as i8" },
  { function(e) v[1] = true end, "the value of 'v' is a boolean here, and declared as i8$" },
  { function(e) m[1] = { n = e.arg0, s = "x" } end,
    "the field 'n' of the records of 'm' is an integer at .-declared_types_test.lua:%d+, " ..
      "and declared as u16: say up.u16%(x%) to cut it" },
  { function(e) m[1] = { n = 1, s = 2 } end,
    "the field 's' of the records of 'm' is an integer at .-, and declared as a string" },
  { function(e) m[1] = { n = 1 } end, "this record lacks the field 's' that the records declared for it always have" },
  { function(e) m[1] = { n = 1, s = "x", t = 1 } end, "the records of 'm' have no field 't', which this one has" },
  { function(e) local r = m[1] if r then r.n = e.arg0 end end,
    "the field 'n' is an integer here, and declared as u16: say up.u16" },
  { function(e) local r = m[1] if r then r.t = e.arg0 end end, "the records declared for this have no field 't'" },
  { function(e) local x if e.arg0 > 1 then x = 5 end m[1] = { n = x, s = "x" } end,
    "the field 'n' of the records of 'm' is an integer or nil at .-, and declared as u16, which is never nil" },
  { function(e) s8[1] = "eight letters" end,
    "'eight letters' is longer than the 7 bytes that are declared for the value of 's8'" },
} do
  test_run.handler("refused", case[1])
  local compiled, why = pcall(setup.commit)
  ok(not compiled, "refused")
  like(why, "declared_types_test.lua:%d+: .*" .. case[2], "… with this message")
  setup.discard()
end
setup.close()
tap.done_testing()
