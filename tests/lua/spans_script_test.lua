-- scripts/spans.lua on requests whose number is known: the times of each part, the slow ones with what happened
-- meanwhile, several begins of a key, and what cannot be meant.
local tap    = require "tap"
local target = require "target"
local text   = require "uplua.text"
local is, like, ok = tap.is, tap.like, tap.ok

local function run(options, requests)
  return target.uplua(("scripts/spans.lua %s -- build/targets/requests %d"):format(options, requests or 101))
end
local FROM_TO = "--from usdt:app:queued --from-key e.arg0 --to usdt:app:answered --to-key e.arg0 "

local r = run(FROM_TO .. "--via usdt:app:started --via-key e.arg0", 1009)
like(r.out, "\nFrom → to +Count +p50 +p90 +p99 +Longest +Total\n", "a table")
like(r.out, "\nusdt:app:queued → usdt:app:answered +986 ", "all that were answered")
like(r.out, "\nusdt:app:queued → usdt:app:started +986 ", "the first part of the way")
local p99, longest =
  r.out:match "\nusdt:app:started → usdt:app:answered +986 +%S+ %l+ +%S+ %l+ +(%S+ %l+) +(%S+ %l+) "
local least, most = 12e6, 0 -- what the slow ones sleep, and how long the longest takes by the program's own clock
for line in r.out:gmatch "[^\n]+" do most = math.max(most, tonumber(line:match "^%d+ %d+ (%d+)$") or 0) end
local function ns(shown) return shown and text.duration((shown:gsub(" ", ""))) or -1 end
ok(ns(p99) >= 0.9 * least and ns(longest) >= 0.9 * least and ns(longest) <= 1.1 * most, "and the second",
  ("%s, %s of %.3f ms"):format(tostring(p99), tostring(longest), most / 1e6))
like(r.out, "\nusdt:app:queued → usdt:app:answered: 1,009 begun, 986 ended\n  23 still open: the oldest for ",
  "and what was not answered")
is(r.err, "", "nothing was lost")

r = run("--from usdt:app:queued --to usdt:app:answered -k e.arg0 --than 10ms -W ./build/targets/requests:note "
  .. "--around 0 -H")
local slow = 0
for key in r.out:gmatch "\n[%d:.]+ +[%d.]+ m?s +(%d+) +requests %(thread %d+%) +requests %(thread %d+%)" do
  if tonumber(key) % 10 == 0 then slow = slow + 1 end
end
is(slow, 11, "a line for each slow one")
like(r.out, "|@", "a histogram")

-- However long it takes from the note to the request.
r = run("--from usdt:app:queued --to usdt:app:answered -k e.arg0 --than 10ms -W ./build/targets/requests:note "
  .. "-b process --around 1s")
local others = {}
for i in r.out:gmatch "note%(i=(%d+)%)" do others[i] = true end
local around = 0
for i = 0, 100, 10 do around = around + (others[tostring(i)] and 1 or 0) end
is(around, 11, "with what happened around them")

r = run("--from usdt:app:queued --from usdt:app:started --to usdt:app:answered --to usdt:app:twice -k e.arg0 "
  .. "--wins oldest")
like(r.out, "usdt:app:queued, usdt:app:started → usdt:app:answered, usdt:app:twice +98 ", "several probes at each side")
like(r.out, "\n  196 ended without a begin\n", "…")
r = run("--from usdt:app:queued --to usdt:app:answered --from-key e.arg0 --to-key 'e.arg0 + 1' --timeout 1ms "
  .. "--wins nested")
like(r.out, "101 begun, 0 ended\n", "keys that do not meet")
like(r.out, "\n  98 ended without a begin\n  101 took longer than the timeout\n", "are given up")
is(r.err, "", "nothing was lost")
r = run(FROM_TO .. "--interval 100ms")
ok(select(2, r.out:gsub("From → to", "")) > 1, "a table for each interval")
r = run("--format json " .. FROM_TO)
like(r.out:match "%b{}" or "", '"count":%s*98', "as data")


-- A thread is woken by what interrupts another one, or nobody: only with --all are these events seen.
r = target.uplua("scripts/spans.lua --from raw_tracepoint:sched_waking --from-key e.args.p.pid "
  .. "--to raw_tracepoint:sched_switch --to-key e.args.next.pid --all -- ./build/targets/pastimes")
local woken = tonumber(((r.out:match "sched_switch: ([%d,]+) begun" or "0"):gsub(",", "")))
ok(woken >= 23 + 50, "whoever runs at tracepoints", woken)

for options, message in pairs {
  [""] = "from where to where%? Give %-%-from SPEC and %-%-to SPEC",
  ["--from syscall:read"] = "from where to where",
  ["--from syscall:read --to syscall:write"] = "%-%-from syscall:read: what tells which begin an end belongs to%? "
    .. "Give %-%-from%-key EXPR, such as e.tid",
  ["--from syscall:read --to syscall:write -k e.tid -W 'syscall:*'"] = "%-%-window is of what took long: give %-%-than",
  ["--from syscall:read --to syscall:write -k e.tid --via-key e.tid"] = "there are more %-%-via%-key than %-%-via",
} do
  r = run(options, 1)
  like(r.err, "^spans.lua: " .. message, "refused: " .. options)
  is(r.status, 2, "status 2")
end
for options, message in pairs {
  ["--from syscall:nosuch --to syscall:write -k e.tid"] = "syscall nosuch: the kernel has no such system call",
  ["--from syscall:read --to syscall:write -k e.tod"] = "has no field 'tod'",
  ["--from syscall:read --to syscall:write -k e.tid --wins last"] =
    "option 'wins': it is one of newest, oldest, nested, all",
  ["--from syscall:read --to syscall:write -k e.tid --than 1ms -W syscall:read -b task"] =
    "option 'by': it is one of thread",
} do
  r = run(options, 1)
  like(r.err, message, "refused: " .. options)
  is(r.status, 1, "status 1")
end

target.done()
tap.done_testing()
