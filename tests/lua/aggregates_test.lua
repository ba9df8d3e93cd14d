-- min, max, stats and the histograms: what handlers on known calls add up to, and what the script makes of it. All
-- cases run in one setup, on build/targets/calls with one thread: add3(i, 2i, 0) 23 times, negative(i) 101 times (i
-- from 0 on).
local tap = require "tap"
local target = require "target"
local ok, is, like = tap.ok, tap.is, tap.like

local preamble = [[
local up = require "uplua"
local CALLS = "./build/targets/calls:"
local ADD3, NEGATIVE = CALLS .. "add3", CALLS .. "negative"
local function show(number, ...)
  local parts = {}
  for i = 1, select("#", ...) do parts[i] = tostring((select(i, ...))) end
  print("case " .. number .. ": " .. table.concat(parts, " "))
end
local function list(o, by, n)
  local parts = {}
  for key, value in o:top(n, by) do parts[#parts + 1] = tostring(key) .. "=" .. tostring(by and value[by] or value) end
  return table.concat(parts, " ")
end
local function buckets(h)
  local parts = {}
  for i, b in ipairs(h:buckets()) do parts[i] = ("%s…%s=%s"):format(b.low, b.high, b.count) end
  return table.concat(parts, " ")
end
]]

-- { name, declarations and probes, expressions at the end, what they print as }
local cases = {
  { "min and max", [[local a, b = up.min(), up.max()
    up.uprobe(ADD3, function(e) a:add(e.arg0 - 7) b:add(e.arg0 - 7) end)]], "a:get(), b:get(), a, b", "-7 15 -7 15" },
  { "min and max by key", [[local a, b = up.min(), up.max()
    up.uprobe(ADD3, function(e) a[e.arg0 % 3]:add(e.arg1) b[e.arg0 % 3]:add(e.arg1) end)]],
    "a[1], b[1], a[5], list(b), b:size()", "2 44 nil 1=44 0=42 2=40 3" },
  { "extremes of the whole range", [[local a, b, s = up.min(), up.max(), up.stats()
    up.uprobe(ADD3, function(e) a:add(0x7fffffffffffffffLL) b:add(-0x7fffffffffffffffLL - 1)
      s:add(-0x7fffffffffffffffLL - 1) end)]],
    "a:get(), b:get(), s.max, s.min, s.count",
    "9223372036854775807LL -9223372036854775808LL -9223372036854775808LL -9223372036854775808LL 23" },
  { "stats", [[local s = up.stats() up.uprobe(ADD3, function(e) s:add(e.arg0 - 7) end)]],
    "s.count, s.sum, s.avg, s.min, s.max, s:get().sum, s", "23 92 4 -7 15 92 count 23, sum 92, avg 4, min -7, max 15" },
  { "stats by key", [[local s = up.stats() up.uprobe(ADD3, function(e) s[e.arg0 % 2]:add(e.arg0) end)]],
    "s[0].count, s[0].sum, s[1].avg, s[1].max, s[9].count, list(s, 'sum', 1), list(s, 'count')",
    "12 132 11 21 0 0=132 0=12 1=11" },
  { "a key of a tuple, with a string",
    [[local s = up.stats() up.uprobe(ADD3, function(e) s[{ e.comm, e.arg0 % 2 == 0 }]:add(1) end)]],
    "s[{ 'calls', true }].count, s[{ 'calls', false }].count", "12 11" },
  { "keys true and false", [[local n = up.stats() up.uprobe(ADD3, function(e) n[e.arg0 < 3]:add(e.arg0) end)]],
    "list(n, 'sum')", "false=250 true=3" },
  { "what no handler has added to", [[local m, s, h, k = up.max(), up.stats(), up.hdr(), up.min()
    up.uprobe(ADD3, function(e) if e.arg0 > 100 then m:add(1) s:add(1) h:add(1) k[1]:add(1) end end)]],
    "m:get(), s.count, s.max, s, h.count, h:percentile(50), k[1], k:size(), k",
    "nil 0 nil (empty) 0 nil nil 0 (empty)" },
  { "what no handler uses", [[local m, s, l, d = up.max(), up.stats(), up.lhist(0, 10, 1), up.hdr(3)]],
    "m, m:get(), s, s.count, l.count, d:percentile(9), l:take().count", "(empty) nil (empty) 0 0 nil 0" },
  { "a take", [[local s, h, m = up.stats(), up.hist(), up.max()
    up.uprobe(ADD3, function(e) s[e.arg0 % 2]:add(e.arg0) h:add(e.arg0) m:add(e.arg0) end)]],
    "s:take()[1].sum, s:size(), h:take().max, h.count, m:take():get(), m:get(), m:take():get()",
    "121 0 22 0 22 nil nil" },
  { "equal steps", [[local h = up.lhist(5, 20, 5) up.uprobe(ADD3, function(e) h:add(e.arg0) end)]],
    "h.count, h.sum, h.min, h.max, h:percentile(50), h:percentile(100), h:percentile(0)", "23 253 0 22 11 22 0" },
  { "steps from below zero", [[local h = up.lhist(-10, 10, 4 + 1) up.uprobe(ADD3, function(e) h:add(e.arg0 - 11) end)]],
    "h:percentile(4), h:percentile(5), h.min, h.max", "-11 -10 -11 11" },
  { "steps over the whole range", [[local h = up.lhist(-9007199254740992, 9007199254740992, 9007199254740992)
    up.uprobe(ADD3, function(e) h:add(-0x7fffffffffffffffLL - 1) h:add(0x7fffffffffffffffLL) h:add(-1) h:add(0) end)]],
    "h.count, #h:buckets()", "92 4" },
  { "10,000 buckets, by key",
    [[local h = up.lhist(0, 10000, 1) up.uprobe(ADD3, function(e) h[e.arg0 % 2]:add(e.arg0 * 480) end)]],
    "h[0].count, h[1].count, h[0]:percentile(50), h[1]:percentile(1), h[0]:percentile(100), h[0].sum",
    "12 11 4800 480 10560 63360" },
  { "percentiles of powers of two", [[local h = up.hist() up.uprobe(ADD3, function(e) h[1]:add(e.arg0) end)]],
    "h[1]:percentile(1), h[1]:percentile(50), h[1]:percentile(99.9)", "0 11 22" },
  { "bars of equal steps", [[local h = up.lhist(4, 20, 8) up.uprobe(ADD3, function(e) h:add(e.arg0) end)]],
    "'\\n' .. tostring(h)", [[

       < 4  4  |@@@@@@@@@@@@@@@@@@@@@@@@                        |
   [4, 12)  8  |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [12, 20)  8  |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
      ≥ 20  3  |@@@@@@@@@@@@@@@@@@                              |
  count 23, avg 11, min 0, max 22]] },
  { "buckets of equal steps", [[local h = up.lhist(4, 20, 8) up.uprobe(ADD3, function(e) h:add(e.arg0) end)]],
    "buckets(h), buckets(h:take():get()), buckets(h)",
    "-inf…3=4 4…11=8 12…19=8 20…inf=3 -inf…3=4 4…11=8 12…19=8 20…inf=3 " },
  { "buckets of powers of two, by key, and of significant digits", [[local h, d = up.hist(), up.hdr(1)
    up.uprobe(ADD3, function(e) h[5]:add(e.arg0 - 2) d:add(e.arg0 * e.arg0) end)]],
    "buckets(h[5]), buckets(h[6]), buckets(d):sub(1, 31), #d:buckets()",
    "-inf…-1=2 0…0=1 1…1=1 2…3=2 4…7=4 8…15=8 16…31=5  0…0=1 1…1=1 4…4=1 9…9=1 23" },
  { "times", [[local h = up.hist { unit = "ns" } up.uprobe(ADD3, function(e) h:add(e.arg0 * 1000) end)]],
    "'\\n' .. tostring(h)", [[

                   0  1  |@@@@@@                                          |
                   …
    [512 ns, 1.0 us)  1  |@@@@@@                                          |
    [1.0 us, 2.0 us)  1  |@@@@@@                                          |
    [2.0 us, 4.1 us)  2  |@@@@@@@@@@@@                                    |
    [4.1 us, 8.2 us)  4  |@@@@@@@@@@@@@@@@@@@@@@@@                        |
   [8.2 us, 16.4 us)  8  |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [16.4 us, 32.8 us)  6  |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@            |
  count 23, avg 11.0 us, min 0 s, max 22.0 us]] },
  { "times in equal steps are exact", [[local h = up.lhist(0, 2500000, 1250000, { unit = "ns" })
    up.uprobe(ADD3, function(e) h:add(e.arg0 * 100001) end)]], "'\\n' .. tostring(h)", [[

       [0, 1.25 ms)  13  |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  [1.25 ms, 2.5 ms)  10  |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@           |
  count 23, avg 1.1 ms, min 0 s, max 2.2 ms]] },
  { "percentiles of times, and an open end",
    [[local d, h = up.hdr(2, { unit = "ns" }), up.lhist(0, 1000, 500, { unit = "ns" })
    up.uprobe(ADD3, function(e) d:add(e.arg0 * 1000000) h:add(e.arg0 * 1000) end)]],
    "tostring(d):match('50%% [^\\n]*'), select(2, h:percentile(90)), d:percentile(50)",
    "50% ≤ 11.0 ms, 90% ≤ 20.1 ms, 99% ≤ 22.0 ms, 99.9% ≤ 22.0 ms ≥ 1 us 11010047" },
  { "bytes and counts", [[local b, c, s, k = up.hist { unit = "bytes" }, up.hist { unit = "count" },
      up.stats { unit = "bytes" }, up.stats { unit = "ns" }
    up.uprobe(ADD3, function(e)
      b:add(e.arg0 * 1024) c:add(e.arg0 * 1000 + 1) s:add(e.arg0 * 1024) k[1]:add(e.arg0 * 1000)
    end)]],
    "tostring(b):match('%[4.*KB%)  4'), tostring(c):match('%[1,.*,384%)  8'):match('%[8.*'), s, k, " ..
    "tostring(b):match('count.*'), tostring(c):match('count.*')",
    "[4.0 KB, 8.0 KB)  4 [8,192, 16,384)  8 count 23, sum 253.0 KB, avg 11.0 KB, min 0 B, max 22.0 KB " ..
    "1  count 23, sum 253.0 us, avg 11.0 us, min 0 s, max 22.0 us " ..
    "count 23, avg 11.0 KB, min 0 B, max 22.0 KB count 23, avg 11,001, min 1, max 22,001" },
  { "totals and extremes in their units", [[local b, t, c = up.sum { unit = "bytes" }, up.sum { unit = "ns" },
      up.count { unit = "count" }
    local least, most, none = up.min { unit = "bytes" }, up.max { unit = "ns" }, up.sum { unit = "bytes" }
    up.uprobe(ADD3, function(e)
      b:add(e.arg0 * 1024) t[e.arg0 % 2]:add(e.arg0 * 1000) c:inc() least:add(e.arg0 * 1024 + 512)
      most:add(e.arg0 * 1000) if e.arg0 > 100 then none:add(1) end
    end)]],
    "tostring(b), tostring(t), c, least, most, none, b:get(), t[0], t:take(), b:take()",
    "253.0 KB 0  132.0 us\n1  121.0 us 23 512 B 22.0 us 0 B 259072 132000 0  132.0 us\n1  121.0 us 253.0 KB" },
  { "many buckets are drawn several to a row",
    [[local h = up.lhist(1, 99, 1) up.uprobe(NEGATIVE, function(e) h:add(e.arg0) end)]],
    "select(2, tostring(h):gsub('\\n', '')), tostring(h):match('%[97, 99%)  2'), " ..
    "tostring(h):match('< 1  1'), tostring(h):match('≥ 99  2')",
    "51 [97, 99)  2 < 1  1 ≥ 99  2" },
  { "significant digits: exact where they suffice",
    [[local h = up.hdr(2) up.uprobe(NEGATIVE, function(e) h:add(e.arg0) end)]],
    "h.count, h.sum, h:percentile(50), h:percentile(90), h:percentile(99), h.max", "101 5050 50 90 99 100" },
  { "negative values have a bucket of their own",
    [[local h = up.hdr() up.uprobe(ADD3, function(e) h:add(e.arg0 * 1000 - 3000) end)]],
    "h.count, h.min, #h:get():buckets(), h:buckets()[1].count, h:percentile(0) < 0, tostring(h):match('< 0  3')",
    "23 -3000 21 3 true < 0  3" },
  { "unsigned values", [[local a, b, s, t = up.min(), up.max(), up.stats(), up.sum()
    up.uprobe(ADD3, function(e)
      local v = up.u64(e.arg0 - 1)
      a:add(v) b[e.arg0 == 0]:add(v) b[false]:add(5) s:add(v) t:add(up.u64(e.arg0))
    end)]], "a:get(), b[true], b[false], s.min, s.max, s.count, t",
    "0 18446744073709551615ULL 21 0 18446744073709551615ULL 23 253" },
  { "buckets of unsigned values", [[local h, l, d = up.hist(), up.lhist(-10, 1000, 10), up.hdr(2)
    up.uprobe(ADD3, function(e)
      local v = up.u64(e.arg0 - 2)
      h:add(v) l:add(v) d:add(v)
    end)]], "h:percentile(91), h:percentile(92), tostring(h):match('8E, 16E%)  2'), " ..
            "l:percentile(91), select(2, l:percentile(92)), " ..
    "tostring(l):match('≥ 1,000   2'), d:percentile(91), d:percentile(92) > 1.8e19, tostring(d):match('8E, 16E%)  2')",
    "31 1.3835058055282e+19 8E, 16E)  2 29 ≥ 1,000 ≥ 1,000   2 20 true 8E, 16E)  2" },
  { "sums that pass 2^63 and come back", [[local s, t = up.sum(), up.stats()
    up.uprobe(ADD3, function(e)
      local v = e.arg0 % 4 < 2 and 0x7fffffffffffffffLL or -0x7fffffffffffffffLL
      if e.arg0 < 20 then s[1]:add(v) s[2]:add(-v) t:add(v) end
      s[1]:add(1) t:add(1)
    end)]], "s[1], s[2], t.sum, t.count, t.max", "23 0 23 43 9223372036854775807LL" },
  { "sums beyond 2^63", [[local s, u, t, k = up.sum(), up.sum(), up.stats(), up.sum()
    up.uprobe(ADD3, function(e)
      s:add(0x4000000000000000LL) u:add(up.u64(e.arg0 - e.arg0) + 0x600000000000000ULL) t:add(-0x4000000000000000LL)
      k[e.arg0 % 2]:add(0xf000000000000000ULL)
    end)]], "s:get() / 2 ^ 62, u, t.sum / 2 ^ 62, t.avg / 2 ^ 62, k[0] / 2 ^ 60, list(k)",
    "23 9,943,947,977,234,055,168 -23 -1 180 0=2.0752587082923e+20 1=1.9023204826013e+20" },
  { "the order of sums beyond 2^63", [[local k, u = up.sum(), up.stats()
    up.uprobe(ADD3, function(e)
      local large = 0x2000000000000000LL
      k[e.arg0 % 4]:add(e.arg0 % 4 == 0 and large or e.arg0 % 4 == 1 and -large or
          e.arg0 % 4 == 2 and 0x100000000000000LL or 1LL)
      u[e.arg0 % 2]:add(up.u64(e.arg0 % 2 == 0 and large or large / 8))
    end)]], "list(k), list(u, 'sum'), u[0].count, u[0].sum",
    "0=13835058055282163712ULL 2=432345564227567616LL 3=5 1=-1.3835058055282e+19 0=2.7670116110564e+19 " ..
    "1=3170534137668829184LL 12 2.7670116110564e+19" },
  { "percentiles at both ends", [[local h, l = up.hist(), up.lhist(0, 1000, 100)
    up.uprobe(ADD3, function(e) h:add(e.arg0 * e.arg0 * 1000 + 10) l:add(e.arg0 * e.arg0 * 10) end)]],
    "h:percentile(0), h:percentile(4), h:percentile(100), l:percentile(43), l:percentile(48), " ..
    "select(2, l:percentile(48)), l:percentile(100)",
    "10 10 484010 899 nil ≥ 1,000 4840" },
}

-- hdr's buckets for values of all sizes: e.arg0 + 3 at bits 0, 2, … 44, and larger.
for digits = 1, 4 do
  cases[#cases + 1] = { ("hdr(%d) keeps so many digits of any value"):format(digits), ([[local h = up.hdr(%d)
    up.uprobe(ADD3, function(e) h[e.arg0]:add(bit.lshift(e.arg0 * 997 + 12345, 2 * e.arg0)) end)]]):format(digits),
    ([[(function()
      local worst, count = 0, 0
      for i, one in h:pairs() do
        local v = (i * 997 + 12345) * 4 ^ i
        local bucket = one:buckets()[1]
        local low, high = bucket.low, bucket.high
        if not (low <= v and v <= high and one.sum == v) then return "wrong: " .. i end
        worst, count = math.max(worst, (high - low) / low), count + one.count
      end
      return count .. " " .. tostring(worst <= 10 ^ -%d and worst > 10 ^ -%d / 20)
    end)()]]):format(digits, digits), "23 true" }
end

-- More new keys at once than the kernel has memory ready for: they wait elsewhere, none is lost.
cases[#cases + 1] = { "a burst of new keys", [[local h, n = up.hist { max = 20000 }, up.count { max = 20000 }
  up.uprobe(ADD3, function(e) for i = 1, 500 do h[500 * e.arg0 + i]:add(i) n[500 * e.arg0 + i]:inc() n[1]:inc() end
    end)]],
  "h:size(), n:size(), h[11500].sum, n[1], n[2], h:take():size(), h:size()", "11500 11500 500 11501 1 11500 0" }

local script = { preamble }
for number, case in ipairs(cases) do
  script[#script + 1] = ("do %s\n up.at_exit(function() show(%d, %s) end) end"):format(case[2], number, case[3])
end
local run = target.script(table.concat(script, "\n"), "-- ./build/targets/calls 1")
local values = {}
for number, value in (run.out .. "case 0: "):gmatch "case (%d+): (.-)%f[\n]\n?%f[c]" do
  values[tonumber(number)] = value
end
for number, case in ipairs(cases) do is(values[number], case[4], case[1]) end
is(run.status, 0, "the status is the target's")
is(run.err, [[uplua: not everything was seen:
  3 × a sum of 's' is beyond 64 bits: rounded
  1 × a sum of 'h' is beyond 64 bits: rounded
  1 × a sum of 'l' is beyond 64 bits: rounded
  1 × a sum of 'd' is beyond 64 bits: rounded
  1 × a sum of 't' is beyond 64 bits: rounded
  3 × a sum of 'k' is beyond 64 bits: rounded
  1 × a sum of 'u' is beyond 64 bits: rounded
]], "nothing is lost, and sums that are rounded are said to be")

-- What is wrong is said at the line that says it.
for _, case in ipairs {
  { "up.lhist(0, 10)", "lhist: the step is a whole number, not nil" },
  { "up.lhist(0, 10, 0)", "lhist: the step is at least 1" },
  { "up.lhist(10, 10, 1)", "lhist: the upper end is above the lower" },
  { "up.lhist(0, 10, 3)", "lhist: 0 to 10 are not whole steps of 3" },
  { "up.lhist(0, 2e6, 1)", "lhist: 2,000,000 buckets; there can be 1,000,000" },
  { "up.lhist(0, 10, 1, { maximum = 5 })", "lhist: unknown option 'maximum'; did you mean 'max'" },
  { "up.hdr(5)", "hdr: the significant digits are a whole number from 1 to 4, not 5" },
  { "up.stats(5)", "stats: options are a table" },
  { "local s = up.stats() up.uprobe('./build/targets/calls:add3', function(e) s:inc() end)",
    "it takes values: :add%(value%)" },
  { "local s = up.max() up.uprobe('./build/targets/calls:add3', function(e) s:add(up.u64(e.arg0)) s:add(e.arg1) end)",
    "the value added to 's' is an integer here, and an unsigned integer at %-e:3: " ..
    "convert one of them, by up.u64%(x%) or up.i64%(x%)" },
  { "local s = up.max() up.uprobe('./build/targets/calls:add3', function(e) s:add(e.comm) end)",
    ":add%(value%) takes an integer, not a string" },
} do
  local refused =
    target.uplua(("-e %s -- ./build/targets/calls"):format(target.quote("\nlocal up = require 'uplua'\n" .. case[1])))
  like(refused.err, "%-e:3: " .. case[2], case[1])
  is(refused.status, 1, "… with status 1")
end

-- What nobody has looked at is printed: a global, and another aggregation that was filled.
run = target.script([[
local up = require "uplua"
local filled, by_key, kept, empty, read, state = up.count(), { sizes = up.hist() },
    up.max(), up.sum(), up.count(), up.hash()
seen = up.sum()
up.uprobe("./build/targets/calls:add3", function(e)
  filled:inc() by_key.sizes[e.arg0 % 1]:add(5) kept:add(e.arg0) read:inc() seen:add(e.arg0) state[1] = e.arg0
  if e.arg0 > 100 then empty:add(1) end
end)
up.at_exit(function() print("kept " .. read:get() .. " " .. kept:take():get()) end)]], "-- ./build/targets/calls 1")
is(run.out:match "kept.*", [[kept 23 22
filled: 23
sizes:
0
  [4, 8)  23  |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
  count 23, avg 5, min 5, max 5
seen: 253
]], "locals that were filled and never read are printed as globals are, and no others")
-- Elements per CPU are dear to make: keys that come once have none, those that come often do. ROOM: not more keys than
-- that, wherever they are kept.
run = target.script([[
local up = require "uplua"
local object = require "uplua.objects.object"
local ROOM = 1009
local once, often, added, few = up.count(), up.count(), up.sum(), up.count { max = ROOM }
up.uprobe("./build/targets/updates:step", function(e)
  once[e.arg0]:inc()
  often[bit.band(e.arg0, 7)]:inc()
  added[bit.band(e.arg0, 7)]:add(e.arg0)
  few[e.arg0]:inc()
end)
local function per_cpu(o) return tonumber(object.state(o).map:read().count) end
up.at_exit(function()
  local keys, wrong, hits, sum = 0, 0, 0, 0
  for _, n in once:pairs() do
    keys = keys + 1
    if n ~= 1 then wrong = wrong + 1 end
  end
  for _, n in often:pairs() do hits = hits + n end
  for _, n in added:pairs() do sum = sum + n end
  print(keys, wrong, hits, sum, few:size() <= ROOM + 128 and few:size() >= ROOM)
  print(per_cpu(once), per_cpu(often), per_cpu(added))
  for _, o in ipairs { once, often, added, few } do o:clear() end
end)]], "-- ./build/targets/updates 4 20011")
local found = run.out:gsub("updates %d+\n", "")
is(found, ("20011\t0\t20011\t%d\ttrue\n0\t8\t8\n"):format(20011 * 20010 / 2),
  "keys that come once, and keys that come often")

-- Those that are exported have what they have no room for all together, by threads at the same time.
run = target.script([[
local up = require "uplua"
local aggregate = require "uplua.objects.aggregate"
local n, s, h, d = up.count { max = 100 }, up.sum { max = 100 }, up.hist { max = 100 }, up.hdr(3, { max = 100 })
up.uprobe("./build/targets/updates:step", function(e)
  local v = e.arg0
  n[v]:inc() s[v]:add(v) h[v]:add(v) d[v]:add(v * 1000)
end)
for name, o in pairs { n = n, s = s, h = h, d = d } do up.metric(name, o) end
up.at_exit(function()
  local function total(o, of)
    local sum, keys = of(aggregate.rest(o) or 0), 0
    for _, value in o:pairs() do sum, keys = sum + of(value), keys + 1 end
    return ("%d %s"):format(sum, tostring(keys >= 100 and keys < 1000))
  end
  local function plain(value) return value end
  print(total(n, plain), total(s, plain), total(h, function(v) return v.count end),
    total(h, function(v) return v.sum end), total(d, function(v) return v.sum end),
    total(d, function(v)
      local count = 0
      for _, bucket in ipairs(v:buckets()) do count = count + bucket.count end
      return count
    end))
  for _, o in ipairs { n, s, h, d } do o:clear() end
end)]], "-- ./build/targets/updates 4 20011")
local all = 20011 * 20010 / 2
is(run.out:gsub("updates %d+\n", ""),
  ("20011 true\t%d true\t20011 true\t%d true\t%d true\t20011 true\n"):format(all, all, all * 1000),
  "what there is no room for is added up, exactly")

target.done()
tap.done_testing()
