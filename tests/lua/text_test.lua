-- Text for people.
local tap = require "tap"
local text = require "uplua.base.text"
local order = require "uplua.objects.order"
local ok, is, like = tap.ok, tap.is, tap.like

is(text.format("%d %x %#x", -5LL, 0xffffffffffffffffULL, 255), "-5 ffffffffffffffff 0xff", "64-bit integers")
is(text.format("%s %s %s", nil, true, 7LL), "nil true 7", "%s takes any value")
is(text.format("%5.1f%% %s", 99.94, "x"), " 99.9% x", "a percent sign")
is(text.format("%s", "a\27[2J\nb"), "a\\x1b[2J\nb", "control characters in a string are escaped, newlines are not")
is(text.format("%c%c%c|%3c|", 27, 10, 65, 7), "\\x1b\nA|\\x07|", "nor do control characters come by %c")
is(text.format("%s%s %.1s %c%c", "\194", "\155", "é", 0xc2, 0x9b), "\\xc2\\x9b \\xc3 \\x9b",
  "nor from pieces of characters")
is(text.format("%s", setmetatable({}, { __tostring = function() return "a\27" end })), "a\\x1b",
  "nor from what prints itself")
is(text.format("%d %i %20u|%x", 18446744073709551615ULL, 9223372036854775808ULL, -1LL, -1LL),
  "18446744073709551615 9223372036854775808 18446744073709551615|ffffffffffffffff", "unsigned 64-bit integers")
is(text.format("%.1f %g", 4611686018427387904LL, 2ULL), "4611686018427387904.0 2", "64-bit integers as floating point")
is(text.format("%-6s|%3d|", "ab", 7), "ab    |  7|", "widths")
is(text.format("%d", setmetatable({}, { __index = { get = function() return 23 end } })), "23",
  "%d of a count is its total")
local good, message = pcall(function() text.printf("%d\n", "x") end)
like(message, "text_test.lua:%d+: printf: bad argument #2", "a wrong argument is reported at the script's line")

good, message = pcall(function() text.printf(nil) end)
like(message, "text_test.lua:%d+: printf: a format is expected", "so is a missing format")
is(text.thousands(1204551), "1,204,551", "thousands")
is(text.thousands(-999), "-999", "three digits")
is(text.thousands(-1000), "-1,000", "four, negative")
is(text.thousands(18446744073709551615ULL), "18,446,744,073,709,551,615", "64 bits")
is(text.plural(1, "stack"), "1 stack", "one")
is(text.plural(2311, "stack"), "2,311 stacks", "several")
is(text.plural(0, "entry", "entries"), "0 entries", "with a plural of its own")
is(text.thousands(1234.5), "1,234.5", "a fraction")

for given, want in pairs { ["100ms"] = 1e8, ["5s"] = 5e9, ["2m"] = 12e10, ["1h"] = 36e11, ["33us"] = 33000, ["7"] = 7e9,
  ["1.5"] = 1.5e9, ["0.4ns"] = 0, ["2d"] = 1728e11, ["1001"] = 1001e9, [" 3 min "] = 18e10 } do
  is(text.duration(given), want, "duration " .. given)
end
for given, want in pairs { [0] = 0, [23] = 23, [1e6] = 1e6, [1e6 / 3] = 333333, [101.5] = 102 } do
  is(text.duration(given), want, given .. " is ns already")
end
is(text.duration(101LL), 101, "so is a 64-bit integer")
is(text.duration(18446744073709551615ULL), 2 ^ 64, "… the largest, rounded")
for _, wrong in ipairs { "5 parsecs", "", "s", "-1", "1e3", "." } do
  like(select(2, text.duration(wrong)), "^'.*' is not a duration; write a number of seconds, or 100ms, 5s, 2m, 1h$",
    "no duration: " .. wrong)
end
for _, wrong in ipairs { -1, 1 / 0, 0 / 0, -5LL, true, {} } do
  local ns, why = text.duration(wrong)
  is(ns, nil, tostring(wrong) .. " is no duration")
  like(why, "is not a duration; write \"100ms\", \"5s\", \"2m\", \"1h\", or a number of ns$", "… and that says what is")
end
for _, small in ipairs { 1, 2.5, 999, 0.25, 1e-9 } do
  is(text.wait(small), nil, small .. " ns is nothing to wait for")
  is(select(2, text.wait(small)),
    ('%s is a number of ns, and too short a time; did you mean "%ss"?'):format(small, small), "… seconds were meant")
end
is(text.wait(0), 0, "no wait is one")
is(text.wait(1000), 1000, "nor is that a slip")
is(text.wait "500ns", 500, "a text says what it means")

for ns, want in pairs { [29.1e9] = "29.1 s", [35e7] = "350.0 ms", [3725e9] = "62 min 5 s", [9e13] = "25 h 0 min",
  [0] = "0 s", [23] = "23 ns", [1500] = "1.5 us", [-2e6] = "-2.0 ms" } do
  is(text.time(ns), want, want)
end
is(text.time(1204000LL), "1.2 ms", "a 64-bit time")
for n, want in pairs { [0] = "0 B", [1023] = "1023 B", [1024] = "1.0 KB", [1258291] = "1.2 MB", [-2048] = "-2.0 KB",
  [2 ^ 40] = "1.0 TB", [2 ^ 64] = "16.0 EB" } do
  is(text.bytes(n), want, want)
end
is(text.bytes(18446744073709551615ULL), "16.0 EB", "64 bits of bytes")
local public = require "uplua.text"
is(table.concat(text.keys(public), " "), "bar bytes cut duration escape integer plural quote size thousands time width",
  "what is public")
is(public.time(1200000) .. public.bytes(1258291), "1.2 ms1.2 MB", "… is the same")
is(text.size "4M", 4194304, "sizes")
is(text.size "64k", 65536, "in small letters")
is(text.size "1.5M", nil, "no fractions")

is(text.bar(0.5, 10), "@@@@@     ", "a bar")
is(text.bar(0.001, 10), "@         ", "what is not zero shows")
is(text.bar(0, 4), "    ", "what is zero does not")
is(text.escape("a\tb\194\155c"), "a\\x09b\\x9bc", "escape knows C1 controls in UTF-8")
is(text.escape "\xe9t\xe9 \xe0\x82\x9b \xf0\x9f\x98\x80", "\\xe9t\\xe9 \\xe0\\x82\\x9b \xf0\x9f\x98\x80",
  "bytes that are no UTF-8 are escaped")
is(text.escape "\237\159\191\237\160\128 \244\143\191\189\244\144\128\128 \239\191\189\239\191\190",
  "\237\159\191\\xed\\xa0\\x80 \244\143\191\189\\xf4\\x90\\x80\\x80 \239\191\189\\xef\\xbf\\xbe",
    "and what looks like it: halves of pairs, too large ones, U+FFFE")
is(text.escape "naïve – 東京", "naïve – 東京", "and leaves text alone")
is(text.width "naïve – 東", 10, "width counts columns: two for some characters")
is(text.width "e\204\129 😀…", 5, "… none for those that go onto the one before")
is(text.cut("東京都x", 5), "東京…", "no more of them than fit")
is(text.cut("東京都x", 4), "東…", "half a character does not")
is(text.cut("東京都x", 7), "東京都x", "all do")
is(text.nearest("maximum", { "key", "max", "value" }), "max", "the nearest name")
is(text.nearest("zebra", { "key", "max" }), nil, "nothing is near")
is(text.nearest("--hz", { "--by", "--hertz", "--help" }), "--hertz", "an abbreviation; dashes count for nothing")
is(text.nearest("--call", { "--by", "--help", "--failed" }), nil, "half of the letters are too many")
is(text.nearest("cuont", { "cut", "count" }), "count", "two letters swapped")
is(text.nearest("string.format", { "str" }), nil, "a field is not its table")

local micros = text.clock(0)
like(micros, "^%d%d:%d%d:%d%d%.%d%d%d%d%d%d$", "clock")
local ffi = require "ffi"
local C = require "uplua.contract".C
local now = ffi.new "struct uplua_timespec"
-- What the wall clock shows: os.date() alone is some milliseconds behind.
local function wall()
  C.clock_gettime(0, now)
  return os.date("%H:%M:%S", tonumber(now.tv_sec))
end
local before = wall()
C.clock_gettime(1, now)
local monotonic = ffi.cast("int64_t", now.tv_sec) * 1000000000LL + now.tv_nsec
local shown, after = text.clock(monotonic), wall()
local told = text.now()
local earlier = tonumber(monotonic)
C.clock_gettime(1, now)
ok(told >= earlier and told <= tonumber(now.tv_sec) * 1e9 + tonumber(now.tv_nsec), "now is the clock of e.time")
ok(shown:sub(1, 8) == before or shown:sub(1, 8) == after, "the clock's now is the wall clock's")

local seen = {}
for k, v in order.sorted({ a = { n = 1 }, b = { n = 3 }, c = { n = 2 }, d = { n = 3 } }, function(x, y)
  return x.n > y.n
end) do
  seen[#seen + 1] = k .. v.n
end
is(table.concat(seen, " "), "b3 d3 c2 a1", "sorted by values, equal ones by key")
seen = {}
for k in order.sorted { [10] = 1, [9] = 1, b = 1, a = 1, [true] = 1 } do seen[#seen + 1] = tostring(k) end
is(table.concat(seen, " "), "true 9 10 a b", "sorted by key")
ok(order.less(-1LL, 1ULL), "signed and unsigned compare by value")
ok(order.less(-1, 0xffffffffffffffffULL), "numbers too")
ok(not order.less(1ULL, -1LL), "either way round")
tap.done_testing()
