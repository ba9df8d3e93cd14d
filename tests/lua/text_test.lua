-- Text for people.
local tap = require "tap"
local text = require "uplua.text"
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

for given, want in pairs { ["100ms"] = 0.1, ["5s"] = 5, ["2m"] = 120, ["1h"] = 3600, ["1us"] = 1e-6, ["7"] = 7,
  ["1.5"] = 1.5 } do
  is(text.duration(given), want, "duration " .. given)
end
is(text.duration(0.5), 0.5, "a number is seconds")
for _, wrong in ipairs { "5 parsecs", "", "s", "-1", -1, "1e3", true } do
  good, message = pcall(function() local x = text.duration(wrong) return x end)
  like(message, "text_test.lua:%d+: .- is not a duration", "no duration: " .. tostring(wrong))
end
is(text.seconds(29.1), "29.1 s", "seconds")
is(text.seconds(0.35), "350.0 ms", "milliseconds")
is(text.seconds(3725), "62 min 5 s", "minutes")
is(text.seconds(90000), "25 h 0 min", "hours")
is(text.parse_size "4M", 4194304, "sizes")
is(text.parse_size "64k", 65536, "in small letters")
is(text.parse_size "1.5M", nil, "no fractions")

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

local micros = text.clock(0)
like(micros, "^%d%d:%d%d:%d%d%.%d%d%d%d%d%d$", "clock")
local ffi = require "ffi"
local now = ffi.new "struct uplua_timespec"
-- What the wall clock shows: os.date() alone is some milliseconds behind.
local function wall()
  ffi.C.clock_gettime(0, now)
  return os.date("%H:%M:%S", tonumber(now.tv_sec))
end
local before = wall()
ffi.C.clock_gettime(1, now)
local monotonic = ffi.cast("int64_t", now.tv_sec) * 1000000000LL + now.tv_nsec
local shown, after = text.clock(monotonic), wall()
ok(text.now() - tonumber(monotonic) < 5e9 and text.now() >= tonumber(monotonic), "now is the clock of e.time")
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
