-- scripts/hrcount.lua, hrtimer.lua and irqoff.lua: slices of time with known numbers of hits.
local cjson  = require "cjson"
local tap    = require "tap"
local target = require "target"
local up     = require "uplua"
local is, like, ok = tap.is, tap.like, tap.ok

local SHOP, BUSY = "./build/examples/shop", "./build/targets/busy"

-- --- hrcount ---

local run = target.uplua(("hrcount.lua %s:sell -- %s"):format(SHOP, SHOP))
is(run.status .. run.err, "0", "hrcount.lua")
like(run.out, "\n101 hits in [%d.]+ ms, a column is [%d.]+ ms; most in 10%.0 ms: %d+, on CPU %d+ at [%d:.]+\n",
  "the hits")
like(run.out, "\nCPU %d+ |[^\n]*@", "the picture, in which the most is the darkest")
like(run.out, "\n +%d%d:%d%d:%d%d%.%d%d%d", "the times below it")

run = target.uplua(("--format json hrcount.lua --slice 100us --interval 50ms '%s:[ds]el*' -- %s"):format(SHOP, SHOP))
is(run.status .. run.err, "0", "as data")
local sum, slices, seen, again = 0, {}, 0, 0
for line in run.out:gmatch "{[^\n]+" do
  local one = cjson.decode(line)
  for _, row in ipairs(one.type == "table" and one.rows or {}) do
    local name = row.at .. " " .. row.cpu
    sum, seen, again = sum + row.n, seen + 1, again + (slices[name] and 1 or 0)
    slices[name] = true
  end
end
is(sum, 101 + 213, "all hits are in the slices")
ok(seen >= 2, "which are several", seen)
is(again, 0, "no slice is in two pictures")
like(target.uplua("hrcount.lua --slice 2s --interval 1s syscall:read -- true").err, "2s is above the most, 1s",
  "a slice that is too long")
like(target.uplua("hrcount.lua -- true").err, "what is to be counted", "no spec")

-- --- hrtimer ---

-- The numbers of the last line: of slices that are sampled, and of all.
local function numbers(options)
  local ran = target.uplua(("hrtimer.lua %s -- %s user"):format(options, BUSY))
  is(ran.status, 0, "hrtimer.lua " .. options)
  local some, all = ran.out:match "\n([%d,]+) of ([%d,]+) slices? had "
  local used = tonumber(ran.out:match "used (%d+) ms")
  return tonumber((some or "-1"):gsub(",", ""), 10), tonumber((all or "-1"):gsub(",", ""), 10), used / 10, ran
end

local some, all, most, ran = numbers(("--below 1 %s:tick"):format(BUSY)) -- tick is never called there
ok(all >= 10 and all <= 1.3 * most, "100 slices in a second of work", all)
is(some, all, "each has fewer than one hit")
like(ran.out, "\n +descend%+", "they have their stacks")
some, all = numbers(("--above 1 %s:tick"):format(BUSY))
is(some, 0, "none has one or more")
ok(all >= 10, "of as many slices", all)
like(target.uplua("hrtimer.lua syscall:read -- true").err, "give %-%-above N or %-%-below N", "neither")

-- --- irqoff ---

local began = up.now()
run = target.uplua("--format json irqoff.lua --than 0 -- " .. BUSY .. " user")
local took = tonumber(up.now() - began)
is(run.status, 0, "irqoff.lua")
local late, sum_late = 0, 0
for line in run.out:gmatch "{[^\n]+" do
  local one = cjson.decode(line)
  if one.type == "record" then
    late, sum_late = late + 1, sum_late + one.late
    if one.late < 0 or one.late > took then ok(false, "late by less than nothing, or more than all", one.late) end
  end
end
-- A timer of 1 ms on each CPU, for a second of CPU time of the target.
ok(late >= 10, "each timer that was late is told", late)
ok(sum_late / late < took / 10, "and is late by little", sum_late / late)
run = target.uplua("irqoff.lua --than 10s -- " .. BUSY .. " user")
like(run.out, "\nlate by 10%.0 s or more: 0 s in all, in 0 stacks\nall [%d,]+ timers: late by p50 ", "none is so late")
like(run.out, "; its own ran [%d,]+ times\n$", "and it has looked")
target.done()
tap.done_testing()
