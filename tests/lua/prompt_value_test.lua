-- How the prompt shows values: as one would write them, on as many columns as there are.
local tap = require "tap"
local value = require "uplua.prompt.value"
local is, ok = tap.is, tap.ok

-- shows(VALUE, TEXT, NAME, [WIDTH])
local function shows(v, want, name, width) is(value.show(v, width or 80), want, name) end

shows(nil, "nil", "nil")
shows(true, "true", "a boolean")
shows(23, "23", "an integer")
shows(-0.1, "-0.1", "a fraction")
shows(0.1 + 0.2, "0.30000000000000004", "all digits that count")
shows(2 ^ 52, "4503599627370496", "no exponent where it is not needed")
shows(1e300, "1e+300", "… and one where it is")
shows(-1 / 0, "-math.huge", "what Lua has a name for")
shows(5LL, "5LL", "64 bits, signed")
shows(2 ^ 63 * 1ULL, "9223372036854775808ULL", "64 bits, unsigned")
shows('a"b\\c\n\t\r\0\27[7m\255é', [["a\"b\\c\n\t\r\x00\x1b[7m\xffé"]], "a string is escaped, and can be read back")
is(load("return " .. value.show "a\"b\\c\n\0\27[7m\255")(), "a\"b\\c\n\0\27[7m\255", "as Lua does")
ok(value.show(("x"):rep(5000)):find "^\"x+\"… %(5,000 bytes%)$", "a long one is cut, and says so")

shows({}, "{}", "no entries")
shows({ 1, "two", { 3 } }, '{ 1, "two", { 3 } }', "a list")
shows({ b = 1, a = 2, [10] = 3, ["a b"] = 4, ["end"] = 5 }, '{ [10] = 3, a = 2, ["a b"] = 4, b = 1, ["end"] = 5 }',
      "keys in their order, names where they can stand")
shows({ 1, nil, 3 }, "{ 1, [3] = 3 }", "a hole")
shows({ [true] = 1, [{}] = 2 }, "{ [true] = 1, [table] = 2 }", "other keys")
shows({ name = "x", inner = { y = 1 } }, '{\n  inner = { y = 1 },\n  name = "x",\n}', "too wide: an entry a line", 20)
shows({ 101, 202, 303, 404, 505, 606 }, "{\n  101, 202, 303,\n  404, 505, 606,\n}", "short ones share lines", 20)
shows({ ("x"):rep(100) }, '{\n  "xxxxxxxxxxxxxx"…,\n}', "a string is cut for its place", 20)
shows({ a = ("é"):rep(30) }, '{\n  a = "' .. ("é"):rep(30) .. '",\n}', "characters are counted, not bytes", 39)

local t = { name = "t" }
t.self, t.list = t, { t, { up = t } }
shows(t, '{ list = { <_>, { up = <_> } }, name = "t", self = <_> }', "a cycle is named by where it leads")
local inner = { n = 1 }
inner.again = inner
shows({ a = inner, b = inner }, "{\n  a = { again = <_.a>, n = 1 },\n  b = { again = <_.b>, n = 1 },\n}",
      "… and what is there twice is shown twice", 40)

local long = {}
for i = 1, 523 do long[i] = i end
ok(value.show(long):find "\n  … 423 more\n}$", "a long table says how much is left")
local wide = {}
for i = 1, 30 do wide[i] = { ("x"):rep(70) } for k = 1, 50 do wide[i]["k" .. k] = { k } end end
ok(value.show(wide):find "cut after 1,000 lines$", "so does one that would be many lines")
local deep = {}
for _ = 1, 5000 do deep = { deep } end
ok(value.show(deep):find "{ … },\n", "… or is deep")

local harmful = setmetatable({}, { __tostring = function() return "\27]0;title\7" end })
shows(harmful, [[\x1b]0;title\x07]], "what a tostring gives is escaped")
shows({ ["\27[7m"] = 1 }, [[{ ["\x1b[7m"] = 1 }]], "so are keys")
shows(setmetatable({ 1 }, { __index = error, __pairs = error, __len = error }), "{ 1 }", "no code of the user's runs")

-- --- C data ---
local ffi = require "ffi"
ffi.cdef [[
struct shown_point { int x, y; };
struct shown {
  struct shown_point at[2];
  union { unsigned word; float real; };
  unsigned low : 3, : 2, high : 5;
  bool good; char tag[8]; uint8_t bytes[3];
  enum { SHOWN_RED, SHOWN_GREEN } color;
  struct shown *next; const char *none; int64_t big;
};
]]
local whole = ffi.new("struct shown", {
  at = { { 1, 2 }, { 3, -4 } }, word = 0x3f800000, low = 5, high = 17, good = true, tag = "ab\27", bytes = { 1, 255 },
  color = "SHOWN_GREEN", big = 2 ^ 40,
})
whole.next = whole
is((value.show(whole, 80):gsub("0x%x+", "ADDRESS")), [[
{
  at = { { x = 1, y = 2 }, { x = 3, y = -4 } },
  word = 1065353216,
  real = 1,
  low = 5,
  high = 17,
  good = true,
  tag = "ab\x1b",
  bytes = { 1, 255, 0 },
  color = "SHOWN_GREEN",
  next = struct shown *: ADDRESS,
  none = const char *: NULL,
  big = 1099511627776LL,
}]], "a structure, with all that can be in one")
shows(whole.at, "{ { x = 1, y = 2 }, { x = 3, y = -4 } }", "an array in it")
shows(whole.tag, [["ab\x1b"]], "text in it")
shows({ whole.at[1], n = ffi.new("int[?]", 3, { 7, 8, 9 }) },
      "{ { x = 3, y = -4 }, n = { 7, 8, 9 } }", "both in a table")
shows(ffi.new("int", 7), "7", "a number")
shows(ffi.new("struct { }"), "{}", "an empty one")
shows(ffi.typeof "struct shown", "ctype<struct shown>", "a type")
ok(value.show(ffi.new "int[1000]"):find "\n  … 900 more\n}$", "a long array says how much is left")
shows(ffi.cast("struct shown *", 16)[0], "struct shown &: 0x00000010", "what is not there is not looked at")
shows(ffi.metatype("struct { int a; }", { __tostring = function() return "mine\27" end })(), [[mine\x1b]],
      "a type that has a text of its own")

local up = require "uplua"
local n, h = up.count(), up.hist { unit = "ns" }
shows(up.count, "function: up.count", "a function by its name")
shows(string.rep, "function: string.rep", "… one of Lua's")
ok(value.show(function() end):find "^function: .*prompt_value_test.lua:%d+$", "… and the place of another")
shows({ n = n, m = up.hash() }, "{ m = (empty), n = 0 }", "shared objects by what is in them")
ok(value.show(h), "a histogram")
is(value.harmless "a\27[7m\tb\n\27[48;5;226m \27[0m", "a\\x1b[7m\tb\n\27[48;5;226m \27[0m",
   "a heat map keeps its colours")

tap.done_testing()
