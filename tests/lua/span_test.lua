-- uplua.span on a program that knows how long its requests take: which spans there are, how long they took, and what
-- became of each begin and each end that is no span.
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local PROGRAM = "build/targets/requests"
local REQUESTS, SLOW, UNANSWERED = 1009, 101, 23
local FEW = 101       -- requests of most runs here: 11 are slow, and the requests 3, 43 and 83 are not answered
local FEW_UNANSWERED = 3

local HEAD = [[
local up   = require "uplua"
local span = require "uplua.span"
local function number(e) return e.arg0 end
local QUEUED, STARTED, ANSWERED = "usdt:app:queued", "usdt:app:started", "usdt:app:answered"
local function show(s)
  local counts = s:counts()
  local names = {}
  for name, n in pairs(counts) do
    if n ~= 0 then names[#names + 1] = ("%s=%d"):format(name, n) end
  end
  table.sort(names)
  print("counts: " .. table.concat(names, " "))
end
]]

-- Runs the script TEXT on so many requests; without a number on all. The result has `counts`, the line of show().
local function run(text, requests)
  local r = target.script(HEAD .. text, ("-- %s %d"):format(PROGRAM, requests or REQUESTS))
  r.counts = r.out:match "counts: ([^\n]*)"
  return r
end

-- --- truth: each request's time against the program's own clock ---

local truth = run [[
local ended, sum = up.count(), up.sum()
local requests = span.new {
  from = { QUEUED, key = number, keep = function(e) return { name = up.str(e.arg1) } end },
  via  = { { STARTED, key = number } },
  to   = { ANSWERED, key = number, keep = function(e) return { again = e.arg0 } end },
}
requests:done(function(s)
  ended:inc()
  sum:add(s.elapsed)
end)
requests:slow(0, function(s)
  print(("span %d %d %d %d %s %d %d"):format(s.key, s.elapsed, s.legs[1].elapsed, s.legs[2].elapsed, s.from.name,
    s.to.again, s.to.time - s.from.time))
end)
local slow = 0
requests:slow("10ms", function(s) slow = slow + 1 end)
up.at_exit(function()
  print("in the kernel", ended:get(), sum:get())
  print("slow", slow)
  show(requests)
  local open = requests:open()
  print("open", #open, open[1].key, open[1].from.name, open[1].from.comm, open[1].age > open[2].age)
  print(requests)
end)
]]

local known, unanswered = {}, {}
for line in truth.out:gmatch "[^\n]+" do
  local i, inner, outer = line:match "^(%d+) (%d+) (%d+)$"
  if i then known[tonumber(i)] = { inner = tonumber(inner), outer = tonumber(outer) } end
  if line:find "^%d+ unanswered" then unanswered[#unanswered + 1] = line:match "%d+" end
end
is(#unanswered, UNANSWERED, "the program has left out so many")

local spans, wrong, out_of_range, sum, slow_known = 0, 0, {}, 0, 0
for i, elapsed, first, second, name, again, between in truth.out:gmatch
  "span (%d+) (%d+) (%d+) (%d+) (request %d+) (%d+) (%d+)" do
  local request = known[tonumber(i)]
  spans, sum = spans + 1, sum + tonumber(elapsed)
  local legs = tonumber(first) + tonumber(second)
  if name ~= "request " .. i or again ~= i or elapsed ~= between or legs ~= tonumber(elapsed) then wrong = wrong + 1 end
  if not request or tonumber(elapsed) < request.inner or tonumber(elapsed) > request.outer then
    out_of_range[#out_of_range + 1] = ("%d: %s, not %d to %d"):format(i, elapsed, request and request.inner or -1,
      request and request.outer or -1)
  end
  if tonumber(elapsed) >= 10000000 then slow_known = slow_known + 1 end
  known[tonumber(i)] = nil
end
is(spans, REQUESTS - UNANSWERED, "each answered request is a span")
is(next(known), nil, "of its own")
is(wrong, 0, "what each side kept, and the legs, are its own")
is(table.concat(out_of_range, "; "), "",
  "and lasts no less than between the probes, and no more than around them, by the program's clock")
is(truth.out:match "in the kernel%s+(%d+)", tostring(REQUESTS - UNANSWERED), "done() runs for each in the kernel")
is(truth.out:match "in the kernel%s+%d+%s+(%d+)", tostring(sum), "with the same times")
is(tonumber(truth.out:match "slow%s+(%d+)"), slow_known, "slow() tells of those that took as long as it says")
ok(slow_known >= SLOW, "which are at least those that sleep")
is(truth.counts, ("begun=%d ended=%d open=%d"):format(REQUESTS, REQUESTS - UNANSWERED, UNANSWERED), "the counts")
is(truth.out:match "open\t[^\n]*", ("open\t%d\t3\trequest 3\trequests\ttrue"):format(UNANSWERED),
  "what is still open, the oldest first")
like(truth.out, "usdt:app:queued → usdt:app:answered: 1,009 begun, 986 ended\n  23 still open: the oldest for "
  .. "[%d.]+ m?s, key 3, requests %(thread %d+%)\n", "and as a text")
is(truth.err, "", "nothing was lost")

-- --- several begins and ends of one key ---

-- The counts of a run of FEW requests with a span of these OPTIONS; CODE stands behind it.
local function counts_of(options, code)
  return run(([[
    local s = span.new { %s }
    %s
    up.at_exit(function() show(s) end)
  ]]):format(options, code or ""), FEW)
end

local ANY = "from = { QUEUED, key = function(e) return 7 end }, to = { ANSWERED, key = function(e) return 7 end }, "
local answered = FEW - FEW_UNANSWERED
is(counts_of(ANY .. "wins = 'newest'").counts, ("begun=%d ended=%d replaced=3"):format(FEW, answered),
  "the newest begin wins, and the others are counted")
is(counts_of(ANY .. "wins = 'oldest'").counts, ("begun=%d ended=%d replaced=3"):format(FEW, answered),
  "the oldest begin wins, and the others are counted")
is(counts_of(ANY .. "wins = 'nested'").counts, ("begun=%d ended=%d open=3"):format(FEW, answered), "spans that nest")
is(counts_of(ANY .. "wins = 'all'").counts, ("begun=%d ended=%d"):format(FEW, FEW), "an end of all that are open")

local nested = run([[
  local s = span.new { from = { QUEUED, key = function(e) return 7 end, keep = function(e) return { i = e.arg0 } end },
    to = { ANSWERED, key = function(e) return 7 end, keep = function(e) return { i = e.arg0 } end }, wins = "nested" }
  local wrong = 0
  s:slow(0, function(one) if one.from.i ~= one.to.i then wrong = wrong + 1 end end)
  up.at_exit(function() print("wrong", wrong) end)
]], FEW)
is(nested.out:match "wrong\t(%d+)", "0", "an end belongs to the begin in the same depth")
like(nested.out, "101 begun, 98 ended\n  3 still open", "what is open is said where the script does not ask")

local all = run([[
  local s = span.new { from = { QUEUED, key = function(e) return 7 end, keep = function(e) return { i = e.arg0 } end },
    to = { ANSWERED, key = function(e) return 7 end, keep = function(e) return { i = e.arg0 } end }, wins = "all" }
  s:slow(0, function(one) if one.from.i ~= one.to.i then print("late", one.from.i, one.to.i) end end)
]], FEW)
local late = {}
for from, to in all.out:gmatch "late\t(%d+)\t(%d+)" do late[#late + 1] = from .. " " .. to end
is(table.concat(late, ", "), "3 4, 43 44, 83 84", "each of several begins is a span")

is(counts_of [[from = { QUEUED, key = number }, to = { "usdt:app:twice", key = number }, stays = true]].counts,
  ("begun=%d ended=%d open=%d"):format(FEW, 2 * answered, FEW), "many ends of one begin")
is(counts_of [[from = { QUEUED, key = number }, to = { "usdt:app:twice", key = number }]].counts,
  ("begun=%d ended=%d open=3 unbegun=%d"):format(FEW, answered, answered), "an end without a begin is counted")
is(counts_of((ANY:gsub("ANSWERED", "QUEUED"))).counts, ("begun=%d ended=%d open=1 unbegun=1"):format(FEW, FEW - 1),
  "from and to are one probe: from each hit to the next")

-- --- keys ---

for name, key in pairs {
  ["a text"] = "function(e) return up.str(e.arg1) end",
  ["a tuple"] = "function(e) return { e.pid, up.str(e.arg1) } end",
  ["u64"] = "function(e) return up.u64(e.arg0) * 0x9e3779b97f4a7c15ULL end",
} do
  is(counts_of(("from = { QUEUED, key = %s }, to = { ANSWERED, key = %s }"):format(key, key)).counts,
    ("begun=%d ended=%d open=3"):format(FEW, answered), "the key is " .. name)
end
is(counts_of([[
  from = { QUEUED, key = function(e) if e.arg0 % 2 == 0 then return e.arg0 end end },
  to = { ANSWERED, key = number } ]]).counts, "begun=51 ended=51 keyless=50 unbegun=47", "no key, no span: counted")
is(counts_of([[from = { QUEUED, key = number, where = function(e) return e.arg0 % 2 == 0 end },
  to = { ANSWERED, key = number, where = function(e) return e.arg0 % 2 == 0 end } ]]).counts, "begun=51 ended=51",
  "where leaves out in silence")

-- --- what does not end ---

local timeout = counts_of [[from = { QUEUED, key = number }, to = { ANSWERED, key = number }, timeout = "10ms"]]
local given_up, in_time = timeout.counts:match "timed_out=(%d+)", timeout.counts:match "ended=(%d+)"
is(given_up + in_time, FEW, "a timeout: each begin ends in time, or is given up")
ok(tonumber(given_up) >= 11 + 3, "what takes longer is")
is(timeout.counts:match "open=", nil, "and is not open any more")

local exited = counts_of [[from = { QUEUED, key = function(e) return e.tid end },
  to = { "./build/targets/requests:noise", key = function(e) return e.tid end }, exit = "thread"]]
like(exited.counts, "^begun=101 exited=1 replaced=100 unbegun=%d+$", "what a thread has begun, when it exits")
exited = counts_of [[from = { QUEUED, key = function(e) return e.pid end },
  to = { ANSWERED, key = function(e) return e.pid + 1 end }, exit = "process"]]
is(exited.counts, "begun=101 exited=1 replaced=100 unbegun=98", "what a process has begun, when its last thread does")

local full = counts_of [[from = { QUEUED, key = number },
  to = { ANSWERED, key = number, where = function(e) return e.arg0 > 1000 end }, max = 16]]
is(full.counts, "begun=101 full=85 open=16", "there is room for so many, and the others are counted")
like(full.err, "85 × 'open_spans' is full %(max = 16%): not inserted; give it a larger max, ", "in the ledger, too")

local backwards = counts_of [[from = { QUEUED, key = number, time = function(e) return e.arg0 + 1000 end },
  to = { ANSWERED, key = number, time = function(e) return e.arg0 end }]]
is(backwards.counts, "backwards=98 begun=101 open=3", "an end whose time is before its begin's is no long span")
like(backwards.err, "98 × span usdt:app:queued → usdt:app:answered: ends whose time is before their begin's: left out",
  "and is in the ledger")

-- --- what cannot be meant ---

for wrong_use, message in pairs {
  ["span.new {}"] = "span.new: where does it begin%? Give from = { SPEC, key = … }",
  ["span.new { from = { QUEUED }, to = { ANSWERED, key = number } }"] = "span.new: from has no key",
  ["span.new { from = { QUEUED, key = number, kee = 1 }, to = { ANSWERED, key = number } }"] = "unknown option 'kee'",
  ["span.new { from = { QUEUED, key = number }, to = { ANSWERED, key = number }, wins = 'me' }"] =
    "option 'wins': it is one of newest, oldest, nested, all, not 'me'",
  ["span.new { from = { QUEUED, key = number }, to = { QUEUED, key = number }, wins = 'nested' }"] =
    "a span that begins and ends at one probe lasts from each hit to the next",
  ["span.new { from = { QUEUED, key = number }, to = { ANSWERED, key = number } }:slow('soon', print)"] = "slow: ",
  ["span.new { from = { QUEUED, key = number }, to = { 'usdt:app:nosuch', key = number } }"] = "nosuch",
} do
  like(run(wrong_use, 1).err, message, "refused: " .. message:gsub("%%", ""))
end

-- --- several probes at one side, their options, and one probe at both ---

is(counts_of([[
  from = { { QUEUED, key = number, where = function(e) return e.arg0 % 2 == 0 end },
           { STARTED, key = number, where = function(e) return e.arg0 % 2 == 1 end,
             keep = function(e) return { odd = e.arg0 } end } },
  to = { ANSWERED, key = number } ]], [[
  s:slow(0, function(one) if one.from.odd ~= (one.key % 2 == 1 and one.key or nil) then print("wrong", one.key) end end)
]]).counts, "begun=101 ended=98 open=3", "several probes that begin spans, each with its key")
is(counts_of [[from = { QUEUED, key = number },
  to = { { ANSWERED, key = number, where = function(e) return e.arg0 % 2 == 0 end },
         { "usdt:app:twice", key = number } } ]].counts, "begun=101 ended=98 open=3 unbegun=149",
  "several that end them")
local joined = run([[
  local s = span.new { from = { "usdt:app:queued", key = number }, to = { { "usdt:app:queued",
    key = function(e) return e.arg0 - 1 end }, { ANSWERED, key = function(e) return -1 end } } }
  s:slow(0, function(one) if one.to.time <= one.from.time then print("wrong") end end)
  up.at_exit(function() show(s) end)
]], FEW)
is(joined.counts, "begun=101 ended=100 open=1 unbegun=99", "a probe that begins one span and ends another")
is(joined.out:match "wrong", nil, "… an earlier one")

local wakes = run([[
  local s = span.new {
    from = { "tracepoint:sched:sched_wakeup", all = true, key = function(e) return e.args.pid end,
             where = function(e) return e.args.comm == "requests" end },
    to = { "tracepoint:sched:sched_switch", all = true, key = function(e) return e.args.next_pid end,
           where = function(e) return e.args.next_comm == "requests" end },
  }
  up.at_exit(function() print("woken", s:counts().ended) end)
]], FEW)
ok(tonumber(wakes.out:match "woken\t(%d+)") >= FEW, "options of a probe: the end may be in another task")
like(run([[
  span.new { from = { QUEUED, key = number }, to = { "usdt:./build/targets/requests:app:queued", key = number } }
]], 1).err, "usdt:app:queued and usdt:./build/targets/requests:app:queued stand at one place",
  "one probe at both sides, spelled in two ways, is refused")
is(run([[
  local s = span.new { from = { "./build/targets/requests:step", key = function(e) return e.tid end },
    to = { "uretprobe:./build/targets/requests:step", key = function(e) return e.tid end } }
  up.at_exit(function() show(s) end)
]], FEW).counts, "begun=505 ended=505", "a function's entry and its return are two places")
local timer = run([[
  local function first(e) return e.cpu == 0 end
  local function any(e) return 1 end
  local s = span.new { from = { "interval:10ms", key = any, where = first },
    to = { "interval:10ms", key = any, where = first } }
  s:slow(0, function(one) if one.from.comm or one.from.cpu ~= 0 then print("wrong") end end)
  up.at_exit(function() print("ticks", s:counts().ended > 2) end)
]], FEW)
like(timer.out, "ticks\ttrue", "a timer begins and ends spans")
is(timer.out:match "wrong", nil, "which are nobody's")

-- --- the way of a span ---

local legs = run([[
  local s = span.new { from = { QUEUED, key = number }, to = { "usdt:app:twice", key = number },
    via = { { ANSWERED, key = number }, { STARTED, key = number },
            { "usdt:app:started", key = number, time = function(e) return e.time - 1000000000 end } } }
  s:slow(0, function(one)
    local sum, names = 0, {}
    for _, leg in ipairs(one.legs) do
      if leg.elapsed < 0 then print("negative") end
      sum, names[#names + 1] = sum + leg.elapsed, leg.to
    end
    print("legs", sum == one.elapsed, table.concat(names, " "))
  end)
]], FEW)
local _, in_order = legs.out:gsub("legs\ttrue\tusdt:app:started usdt:app:answered usdt:app:twice\n", "")
is(in_order, answered, "legs are in order of time; what is not within the span is none")
is(legs.out:match "negative", nil, "and none is negative")

local parts = run([[
  local s = span.new { from = { QUEUED, key = number }, to = { ANSWERED, key = number },
    via = { { STARTED, key = number, where = function(e) return e.arg0 % 3 == 0 end } } }
  local passed = up.count()
  s:done(function(one) if one.via[1] then passed:inc() end end)
  local times = s:times()
  up.at_exit(function()
    for _, row in ipairs(times()) do print("part", row.count) end
    print("passed", passed:get())
  end)
]], FEW)
local whole, before, behind = parts.out:match "part\t(%d+)\npart\t(%d+)\npart\t(%d+)\n"
is(tonumber(whole), answered, "all spans have a time")
is(before, parts.out:match "passed\t(%d+)", "those that pass a place have one up to there")
is(behind, before, "  … and one from there on, which others have not")
ok(tonumber(before) and tonumber(before) < answered, "  … though they pass by", before)

-- --- the same at the same time on two CPUs ---

local function meet(text)
  local r = target.script(HEAD .. text .. "up.at_exit(function() show(s) end)", "-- build/targets/meet")
  return r.out:match "counts: ([^\n]*)"
end
is(meet [[
  local s = span.new { from = { "./build/targets/meet:begin", key = number },
    to = { "./build/targets/meet:end", key = number } }
]], "begun=1009 ended=1009 unbegun=1009", "of two ends of one begin one counts")
is(meet [[
  local s = span.new { from = { "./build/targets/meet:begin", key = number },
    to = { "./build/targets/meet:end", key = number }, wins = "all" }
]], "begun=1009 ended=1009 unbegun=1009", "… of all that are open, too")
is(meet [[
  local s = span.new { from = { "./build/targets/meet:enter", key = number },
    to = { "./build/targets/meet:leave", key = number }, wins = "nested" }
]], "begun=2018 ended=2018", "two begins of one key, and two ends: each is a span")

-- --- after the load ---

local later = run([[
  local s = span.new { from = { QUEUED, key = number }, to = { ANSWERED, key = number } }
  local ended, slow = up.count(), 0
  up.at_start(function()
    s:done(function(one) ended:inc() end)
    s:slow(0, function(one) slow = slow + 1 end)
  end)
  up.at_exit(function() print("later", ended:get(), slow) show(s) end)
]], FEW)
like(later.out, "later\t98\t98", "done() and slow() of a span whose probes are loaded")
is(later.counts, "begun=101 ended=98 open=3", "and it counts on")

-- --- timeouts, and threads that exit ---

local function never(options)
  return counts_of(([[from = { QUEUED, key = %s }, to = { ANSWERED, key = function(e) return { -1, e.tid } end }, %s]])
    :format("function(e) return { e.arg0, e.tid } end", options), [[
    up.at_exit(function() print("depths", s.kept.depths:size()) end)
  ]])
end
local timed_out = never "timeout = '1ms', wins = 'nested'"
is(timed_out.counts, "begun=101 timed_out=101 unbegun=98", "what is open for longer is given up before the report, too")
like(timed_out.out, "depths\t0", "and leaves no depth")
is(never "exit = 'thread'".counts, "begun=101 exited=101 unbegun=98", "of an exited thread, whatever the key")
is(never "exit = 'process', wins = 'nested'".counts, "begun=101 exited=101 unbegun=98", "and of a process")

target.done()
tap.done_testing()
