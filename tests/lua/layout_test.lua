-- Kernel bytes ↔ Lua values.
local ffi = require "ffi"
local tap = require "tap"
local kernel = require "kernel"
local layout = require "uplua.objects.layout"
local record = require "uplua.objects.record"
local ok, is, like = tap.ok, tap.is, tap.like

local bytes = ffi.new "uint8_t[256]"

local function round(kind, value, size)
  local codec = layout.compile(kernel.scalar(kind, size))
  ffi.fill(bytes, 256, 0xee)
  local why = codec.encode(bytes, value)
  if why then return why end
  return codec.decode(bytes)
end

is(round("i64", -5), -5, "a negative integer comes back")
is(type(round("i64", 2 ^ 53)), "number", "2^53 is a number")
is(type(round("i64", 9007199254740993LL)), "cdata", "2^53 + 1 is cdata")
ok(round("i64", 9007199254740993LL) == 9007199254740993LL, "and exact")
ok(round("u64", 0xffffffffffffffffULL) == 0xffffffffffffffffULL, "the largest u64 comes back")
ok(round("u64", -1) == 0xffffffffffffffffULL, "-1 as a u64 is its bits")
ok(round("i64", 0xffffffffffffffffULL) == -1, "an address above 2^63 as an i64 is its bits")
is(round("u32", 4294967295), 4294967295, "the largest u32")
is(round("i8", -128), -128, "the smallest i8")
is(round("u16", 7LL), 7, "cdata fits a narrow field")
is(round("bool", true), true, "true")
is(round("bool", false), false, "false")
is(round("string", "redis", 16), "redis", "a string ends at its first NUL")
is(round("string", ("x"):rep(15), 16), ("x"):rep(15), "a string may fill its place but for the last byte")
is(round("string", ("x"):rep(15) .. "…", 16), ("x"):rep(15) .. "…", "a string that was cut comes back")
is(bytes[15], 1, "… with its mark")
is(round("string", "abc…", 16), "abc…", "a whole string may end in …")
is(bytes[15], 0, "… without a mark")
layout.compile(kernel.scalar("string", 16)).encode(bytes, "abc…", true)
is(ffi.string(bytes, 16), "abc" .. ("\0"):rep(12) .. "\1",
  "a short string that was cut keeps its mark where it is said to be one")
like(round("string", ("x"):rep(16) .. "…", 16), "longer than the 15 bytes",
  "a string that was cut elsewhere does not fit")
like(round("u32", -1), "%-1 is not in 0 … 4294967295", "-1 is no u32")
like(round("i8", 128), "128 is not in", "128 is no i8")
like(round("i64", 1.5), "1.5 is not an integer", "a fraction is refused")
like(round("i64", "5"), "an integer is expected, not a string", "a string is no integer")
like(round("i64", 2 ^ 63), "64 bits", "2^63 is too large")
like(round("string", ("x"):rep(16), 16), "longer than the 15 bytes", "a string that is too long is refused")
like(round("string", "a\0b", 16), "NUL", "a string with a NUL is refused")
like(round("bool", 1), "a boolean is expected", "1 is no boolean")

local shape = kernel.record({
  { "bytes", kernel.scalar "i64" }, { "comm", kernel.scalar("string", 16) }, { "small", kernel.scalar "u32" },
  { "maybe", kernel.scalar "i64", 0 },
  { "pair", kernel.record { { 1, kernel.scalar "i64" }, { 2, kernel.scalar "bool" } } },
}, true)
local codec = layout.compile(shape)
ffi.fill(bytes, 256, 0xee)
is(codec.encode(bytes, { bytes = 23, comm = "git", small = 7, pair = { 101, true } }), nil, "a record is written")
local r = codec.decode(bytes)
ffi.fill(bytes, 256, 0xee)
is(r.bytes, 23, "an integer field of a copy")
is(r.comm, "git", "a string field")
is(r.small, 7, "a narrow field")
is(r.maybe, nil, "a field that is not there reads nil")
is(r.other, nil, "so does one that no emit names")
is(r.pair[1], 101, "a tuple in a record")
is(r.pair[2], true, "its second element")
is(#r.pair, 2, "its length")
codec.encode(bytes, { bytes = 1, comm = "", small = 0, maybe = -1, pair = { 0, false } })
is(codec.decode(bytes).maybe, -1, "an optional field that is there")

local names = {}
for name, value in pairs(r) do names[#names + 1] = name .. "=" .. tostring(value) end
is(table.concat(names, " "), "bytes=23 comm=git small=7 pair=101, true",
  "pairs walks the fields that are there, in order")
is(tostring(r), "bytes=23 comm=git small=7 pair={101, true}", "tostring shows them")
local written, message = pcall(function() r.bytes = 1 end)
ok(not written, "a copy cannot be written to")
like(message, "layout_test.lua:%d+: .*m:set", "and the message says what to write")
ok(not pcall(function() r.nothing = 1 end), "nor can a field be added")
ok(not pcall(function() r.__1 = 1 end), "nor its bytes be changed")

is(codec.encode(bytes, r), nil, "a record can be written back")
is(codec.decode(bytes).comm, "git", "unchanged")
like(codec.encode(bytes, { byte = 1 }), "unknown field 'byte'; did you mean 'bytes'",
  "a slip in a field's name is shown")
like(codec.encode(bytes, { bytes = 1 }), "field 'comm' is missing", "a missing field is named")
like(codec.encode(bytes, { bytes = 1.5, comm = "", small = 1, pair = { 1, true } }),
     "field 'bytes': 1.5 is not an integer", "a wrong value is named with its field")
like(codec.encode(bytes, 5), "a record is expected, not a number", "a number is no record")
like(codec.encode(bytes, { bytes = 1, comm = "", small = 1, pair = { 1 } }), "field 'pair': field '2' is missing",
  "also inside")
is(layout.compile(shape), codec, "equal layouts share a codec")

local view = codec.view()
codec.encode(bytes, { bytes = 42, comm = "x", small = 1, pair = { 3, false } })
codec.point(view, bytes)
is(view.bytes, 42, "a view reads in place")
is(view.pair[1], 3, "nested too")
local kept = record.copy(view)
codec.unpoint(view)
is(kept.bytes, 42, "a copy of it stays")
written, message = pcall(function() local x = view.bytes return x end)
like(message, "layout_test.lua:%d+: this event is over", "a view that is over says so")
is(record.copy(5), 5, "a copy of a number is the number")

local tuple = layout.compile(kernel.record { { 1, kernel.scalar("string", 16) }, { 2, kernel.scalar "i64" } })
tuple.encode(bytes, { "a\27[2Jb", 7 })
is(tostring(tuple.decode(bytes)), "a\\x1b[2Jb, 7", "control characters of a target do not reach the terminal")
local constant_first =
  layout.compile(kernel.record { { 2, kernel.scalar "i64" }, { 1, kernel.scalar("string", 16) },
  { 3, kernel.scalar "i64" } })
constant_first.encode(bytes, { "git", 7, 23 })
is(tostring(constant_first.decode(bytes)), "git, 7, 23",
  "a tuple is printed by its numbers, whichever the handler sets first")
tap.done_testing()
