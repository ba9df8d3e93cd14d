-- The ends of histograms' buckets, for every power of two: each value lies in its bucket, and buckets do not overlap.
local buckets = require "uplua.objects.buckets"
local tap = require "tap"
local target = require "target"

-- --- by the schemes: low and high are whole, belong to their bucket, and nothing that a number can be lies between ---

-- The next number above VALUE, beyond 2^53 or a whole one below.
local function after(value)
  local _, exponent = math.frexp(value)
  return value + math.max(1, 2 ^ (exponent - 53))
end

-- SCHEME's buckets of positive values from FIRST to LAST, which ends before END: what is wrong with their ends.
local function faults(scheme, first, last, ending)
  local wrong = {}
  for i = first, last do
    local low, high = scheme.lowest(i), scheme.highest(i)
    local edge = i < last and scheme.lowest(i + 1) or ending
    if low % 1 ~= 0 or high % 1 ~= 0 or high < low or high >= edge or after(high) ~= edge then
      wrong[#wrong + 1] = ("%d: %.0f … %.0f, then %.0f"):format(i, low, high, edge)
    end
  end
  return table.concat(wrong, "\n")
end

tap.is(faults(buckets.log2(), 2, 65, 2 ^ 64), "", "hist: each bucket ends where the next one begins")
for digits = 1, 4 do
  local scheme = buckets.hdr(digits)
  tap.is(faults(scheme, 0, (65 - scheme.bits) * 2 ^ scheme.bits - 1, 2 ^ 64), "", ("hdr(%d) too"):format(digits))
end
tap.is(faults(buckets.linear(2 ^ 53 - 101, 1, 101), 1, 101, 2 ^ 53), "", "lhist, up to 2^53")
local log2 = buckets.log2()
tap.is(log2.highest(54), 2 ^ 53 - 1, "below 2^53 the greatest integer is one less than the next power")
tap.is(("%.0f %.0f"):format(log2.highest(55), log2.highest(64)), "18014398509481982 9223372036854774784",
  "below 2^54 and 2^63 it is the greatest number that is less")

-- --- by the kernel: every power of two up to 2^63, and one less ---

local r = target.uplua([[-e '
h, d = hist(), hdr(2)
uprobe("./build/targets/calls:add3", function(e)
  for k = 0, 63 do
    h:add(up.u64(bit.lshift(1LL, k)))
    h:add(up.u64(bit.lshift(1LL, k) - 1))
    d:add(up.u64(bit.lshift(1LL, k)))
  end
end)
at_exit(function()
  for _, b in ipairs(h:buckets()) do print("hist", ("%.0f %.0f"):format(b.low, b.high), b.count) end
  for _, b in ipairs(d:buckets()) do print("hdr", ("%.0f"):format(b.low), b.high >= b.low, b.count) end
end)' -- ./build/targets/calls]])
local CALLS = 23
local want = { "hist\t0 0\t" .. CALLS }
for k = 0, 63 do
  local high = k < 53 and 2 ^ (k + 1) - 1 or 2 ^ (k + 1) - 2 ^ (k - 52)
  want[#want + 1] = ("hist\t%.0f %.0f\t%d"):format(2 ^ k, high, k < 63 and 2 * CALLS or CALLS)
end
for k = 0, 63 do want[#want + 1] = ("hdr\t%.0f\ttrue\t%d"):format(2 ^ k, CALLS) end
tap.is(r.out:match "hist.*" or r.err, table.concat(want, "\n") .. "\n", "each value is in the bucket that has it")

target.done()
tap.done_testing()
