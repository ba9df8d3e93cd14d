-- JSON as uplua writes it: every byte in texts, every digit of numbers, lists, objects, what is neither.
local ffi  = require "ffi"
local json = require "uplua.base.json"
local tap  = require "tap"
local is   = tap.is

local function encode(v) return json.encode(v) end

-- Texts.
is(encode 'say "hi" \\ /', [["say \"hi\" \\ /"]], "a text")
is(encode "", '""', "one without bytes")
is(encode "zwölf €", '"zwölf €"', "one of UTF-8")
is(encode "a\nb\0c\127d\194\133", [["a\\x0ab\\x00c\\x7fd\\x85"]], "control characters")
is(encode "\255\237\160\128\"", [["\\xff\\xed\\xa0\\x80\""]], "what is no UTF-8")
local all = {}
for byte = 0, 255 do all[#all + 1] = string.char(byte) end
local each = encode(all)
is(each:find "[%c\127-\255]", nil, "no byte of any text is one that JSON refuses")
is(select(2, each:gsub("\\\\x%x%x", "")), 32 + 129, "control characters and single bytes above are written so")
local whole = encode(table.concat(all))
is(#whole, 2 + 95 + 2 + (32 + 129) * 5, "and in one text")
is(encode { [table.concat(all)] = 1 }, "{" .. whole .. ":1}", "also as a name")
is(#encode(("x"):rep(100000)), 100002, "a text that is longer than the buffer was")
is(#encode(("\0"):rep(100000)), 500002, "and one that grows as it is written")

-- Numbers.
for _, case in ipairs {
  { 0, "0" }, { -1, "-1" }, { 10, "10" }, { 99, "99" }, { 100, "100" }, { 1009.5, "1009.5" }, { 0.1, "0.1" },
  { 0.1 + 0.2, "0.30000000000000004" }, { 1e300, "1e+300" }, { 2 ^ 53, "9007199254740992" },
  { -2 ^ 53, "-9007199254740992" }, { 2 ^ 53 + 2, '"9007199254740994"' }, { 2 ^ 63, '"9223372036854775808"' },
  { 1LL, "1" }, { -9007199254740993LL, '"-9007199254740993"' }, { 18446744073709551615ULL, '"18446744073709551615"' },
  { -1LL, "-1" }, { 1 / 0, '"inf"' }, { -1 / 0, '"-inf"' }, { 5e-324, "4.9406564584125e-324" },
} do
  is(encode(case[1]), case[2], ("the number %s"):format(tostring(case[1])))
end
is(encode(-0.0):gsub("-", ""), "0", "a zero that is negative")
local wrong, state = {}, 23
for i = 1, 10000 do -- random bits of all magnitudes
  state = (state * 16807) % 2147483647
  local number = (state - 2 ^ 30) * 2 ^ (i % 53 - 30)
  local shown = encode(number)
  if tonumber((shown:gsub('"', ""))) ~= number then wrong[#wrong + 1] = shown end
end
is(table.concat(wrong, " ", 1, math.min(#wrong, 3)), "", "10,000 numbers read again as they were")

-- Tables.
is(encode {}, "{}", "an empty table")
is(encode { 1, "b", true, { x = false } }, '[1,"b",true,{"x":false}]', "a list")
is(encode { 1, nil, 3 }, "[1,null,3]", "one with a hole")
is(encode { 1, {}, 3 }, "[1,null,3]", "and with an empty table, which nobody knows as a list or not")
is(encode { [1000000] = 1 }, '{"1000000":1}', "one that is mostly holes is an object")
is(encode { b = 1, a = 2, c = {}, [3] = "x" }, '{"3":"x","a":2,"b":1}', "an object: its names in order, no empty table")
for round = 1, 3 do
  is(encode { { z = 1, y = 2 }, { y = 3, z = 4 }, { z = 5 } }, '[{"y":2,"z":1},{"y":3,"z":4},{"z":5}]',
    "objects of one form and of others, again " .. round)
end
for i = 1, 3000 do encode { ["name" .. i] = i, last = i } end
is(encode { name2999 = 1, last = 2 }, '{"last":2,"name2999":1}', "after 3,000 forms of objects")
local cycle = {}
cycle.again = cycle
tap.like(encode(cycle), '^{"again":.*"table: 0x%x+"}+$', "a cycle ends")
tap.like(encode(ffi.new "int[2]"), '^"cdata<int %[2%]>: 0x%x+"$', "what is none of these is its text")
is(encode(nil), "null", "nil")
tap.done_testing()
