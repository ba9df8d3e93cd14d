-- Histograms: merging, percentiles, takes, bars.
local ffi = require "ffi"
local tap = require "tap"
local kernel = require "kernel"
local hist = require "uplua.objects.hist"
local ok, is, like = tap.ok, tap.is, tap.like

ffi.cdef "struct test_hist { int64_t sum, wraps; uint64_t max, min, buckets[66]; };" -- struct hist of bpf/aggregate.h
local SIZE = ffi.sizeof "struct test_hist"
local SIGN = 0x8000000000000000ULL

-- A kernel that adds values as bpf/aggregate.h says.
local function added(values, onto)
  local h = onto or ffi.new "struct test_hist"
  for _, v in ipairs(values) do
    h.sum = h.sum + v
    local biased = bit.bxor(ffi.cast("uint64_t", ffi.cast("int64_t", v)), SIGN)
    if biased > h.max then h.max = biased end
    if bit.bnot(biased) > h.min then h.min = bit.bnot(biased) end
    local bucket = v < 0 and 0 or v == 0 and 1 or 2
    if v > 0 then while v >= 2 do v, bucket = v / 2, bucket + 1 end end
    h.buckets[bucket] = h.buckets[bucket] + 1
  end
  return h
end

-- The key of an element ends in the turn, which the script changes when it takes.
local turn = ffi.new "uint64_t[1]"

local function store(fd, key, ...)
  local all = ffi.new("uint8_t[?]", SIZE * kernel.cpus)
  for cpu = 1, math.min(kernel.cpus, select("#", ...)) do
    ffi.copy(all + (cpu - 1) * SIZE, (select(cpu, ...)), SIZE)
  end
  local raw = key and ffi.new("int64_t[2]", key, turn[0]) or ffi.new("int64_t[1]", turn[0])
  assert(kernel.bpf.bpf_map_update_elem(fd, raw, all, 0) == 0)
end

local h = hist.hist()
is(h.count, 0, "an unbound histogram is empty")
local fd = kernel.map("percpu_hash", 8, SIZE, 2)
h:bind { fd = fd, turn = turn }
is(h.count, 0, "a histogram starts empty")
is(h.min, nil, "without a minimum")
is(h:percentile(50), nil, "or percentiles")
is(tostring(h), "(empty)", "and prints so")

local first = added { 0, 1, 1, 100, 1000 }
store(fd, nil, first, kernel.cpus > 1 and added { -5, 70000 } or nil)
if kernel.cpus == 1 then store(fd, nil, added({ -5, 70000 }, first)) end
is(h.count, 7, "count is over all CPUs")
is(h.sum, 71097, "sum")
is(h.min, -5, "min")
is(h.max, 70000, "max")
is(h:percentile(0), -5, "the lowest percentile is the minimum")
is(h:percentile(100), 70000, "the highest is the maximum")
is(h:percentile(50), 1, "the median")
local text = tostring(h)
like(text, "< 0 +1  |@+ ", "bars: the negative bucket")
like(text, "%[64K, 128K%) +1  |@+ ", "bars: large values have units")
like(text, "count 7, avg 10,157, min %-5, max 70,000", "bars: the closing line")
local widest = 0
for line in text:gmatch "[^\n]+" do widest = math.max(widest, select(2, line:gsub("[^\128-\191]", ""))) end
ok(widest <= 80, "bars fit 80 columns")

local taken = h:take()
is(taken:get().count, 7, "a take returns what there is")
is(taken.max, 70000, "an unkeyed view has the histogram's fields")
is(h.count, 0, "and starts anew")
is(tonumber(turn[0]), 1, "by another turn, to which handlers add from then on")
store(fd, nil, added { 300 })
is(h.count, 1, "what was added since")
is(h.sum, 300, "its sum")
is(h.min, 300, "its extremes are its own")
is(h.max, 300, "both")
local both = { first, kernel.cpus > 1 and added { -5, 70000 } or nil }
turn[0] = 0 -- a handler that had read the turn before the take
store(fd, nil, added({ 2 }, both[1]), both[2])
turn[0] = 1
is(h.count, 2, "a value that came late to what was taken is not lost")
is(h.sum, 302, "nor its sum")
is(h.max, 300, "and raises nothing that it did not raise before")
is(h:take().sum, 302, "the next take has it")
is(tonumber(turn[0]), 0, "and turns back")
is(h.count, 0, "to elements that are empty again")
store(fd, nil, added { 5 })
is(h.max, 5, "and have no extremes of before")
h:clear()
is(h.count, 0, "clear")

-- Uniform values: interpolation.
local uniform = hist.hist()
fd = kernel.map("percpu_hash", 8, SIZE, 2)
uniform:bind { fd = fd, turn = turn }
local values = {}
for i = 1, 1024 do values[i] = i end
store(fd, nil, added(values))
for _, p in ipairs { 25, 50, 90, 99 } do
  local got, want = uniform:percentile(p), 1024 * p / 100
  ok(math.abs(got - want) <= 0.03 * 1024, ("percentile %d of 1 … 1024 is near %d: %d"):format(p, want, got))
end
local good, message = pcall(function() uniform:percentile(101) end)
like(message, "from 0 to 100", "a wrong percentile")

-- Both ends, and what has no end.
local ends = hist.hist()
fd = kernel.map("percpu_hash", 8, SIZE, 2)
ends:bind { fd = fd, turn = turn }
store(fd, nil, added { 10, 1000000 })
is(("%d %d %d"):format(ends:percentile(0), ends:percentile(1), ends:percentile(50)), "10 10 10",
  "rank 1 is the minimum")
is(("%d %d"):format(ends:percentile(51), ends:percentile(100)), "1000000 1000000", "and the last the maximum")
store(fd, nil, added { -70000, -3, -2, 4 })
local value, label = ends:percentile(50)
is(value, nil, "where in a bucket without an end a value lies is not known")
is(label, "< 0", "but what bucket that is")
is(ends:percentile(25), -70000, "whose first value may be the minimum")
store(fd, nil, added { -1, -1, -1, 4 })
is(ends:percentile(75), -1, "between two equal values there is but one")

-- Keyed.
local keyed = hist.hist()
fd = kernel.map("percpu_hash", 16, SIZE, 202)
keyed:bind { fd = fd, turn = turn, key = kernel.scalar "i64" }
store(fd, 0, added { 5, 6 })
store(fd, 257, added { 1000, 2000, 4000 })
is(keyed[257].count, 3, "by key")
is(keyed[1].count, 0, "a key that was never added to is empty")
local order = {}
for id, x in keyed:top(2, "sum") do order[#order + 1] = id .. ":" .. x.sum end
is(table.concat(order, " "), "257:7000 0:11", "top by sum")
order = {}
for id, x in keyed:top(20) do order[#order + 1] = id .. ":" .. x.count end
is(table.concat(order, " "), "257:3 0:2", "top by count, if not said otherwise")
like(tostring(keyed), "^257\n .-count 3.-\n0\n .-count 2", "print: a key, then its bars")
is(keyed:take()[0].max, 6, "a view of a keyed histogram")
is(keyed:size(), 0, "and it starts anew")

-- The whole range.
local range = hist.hist()
fd = kernel.map("percpu_hash", 8, SIZE, 2)
range:bind { fd = fd, turn = turn }
store(fd, nil, added { 2 ^ 62, -2 ^ 63 })
is(range.max, 4611686018427387904LL, "2^62 comes back")
like(tostring(range), "%[4E, 8E%) +1", "and has a bar")
is(select(2, tostring(range):gsub("\n", "")), 3, "empty buckets in between are left out")

-- Sums beyond 64 bits: on one CPU, which counts the wraps, and over several.
local aggregate = require "uplua.objects.aggregate"
local sums = hist.hist()
fd = kernel.map("percpu_hash", 8, SIZE, 2)
sums:bind { fd = fd, turn = turn }
local wrapped = added { 2 ^ 62, 2 ^ 62, 2 ^ 62 }
wrapped.wraps = 1
store(fd, nil, wrapped)
ok(sums.sum == 0xc000000000000000ULL, "a sum that has wrapped is not negative, and is exact up to 2^64")
is(sums.avg, 2 ^ 62, "nor is the average")
is(aggregate.rounded(sums), 0, "nothing is rounded")
wrapped.wraps = 2
store(fd, nil, wrapped)
is(sums.sum, 7 * 2 ^ 62, "beyond it is rounded")
is(aggregate.rounded(sums), 1, "which the ledger is told")
wrapped.sum, wrapped.wraps = -5, 0
store(fd, nil, wrapped)
is(sums.sum, -5, "a small negative one is exact")
if kernel.cpus > 1 then
  store(fd, nil, added { 2 ^ 62, 2 ^ 61 }, added { 2 ^ 62 })
  ok(sums.sum == 0xa000000000000000ULL, "no CPU's sum has wrapped, and the total does not")
end
tap.done_testing()
