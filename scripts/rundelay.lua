--[=[
rundelay: which waits for a CPU were the longest, and who had it meanwhile?

  uplua rundelay.lua [options] [-- PID ... or COMMAND]

prints a line for each time that a thread could run and had to wait for a CPU for at least --than: for how long, since
when, who woke it or that its CPU was taken from it, whether it was moved to another CPU meanwhile, and below it what
ran on that CPU until it came, what had it for longest first. At the end the percentiles of all waits, and the longest.
taskstate.lua has a table of the longest, and of what threads do else.

  -t, --than TIME        the time from which on a wait is printed (default 1ms; 0: all)
      --most N           so many of those that ran meanwhile (default 8, up to 64; 0: none)
  -S, --stack            with the stack in which it was woken

A thread counts from the first time on that it leaves a CPU while it is traced.

  $ uplua --duration 10s rundelay.lua --than 5ms --stack -- 4242
--]=]
local up    = require "uplua"
local sched = require "uplua.sched"
local span  = require "uplua.span"
local text  = require "uplua.text"
local view  = require "uplua.view"

local options = up.args {
  "rundelay.lua [options] [-- PID ... or COMMAND]",
  { "than,t", "TIME", "duration", "1ms", "the time from which on a wait is printed; 0: all" },
  { "most",   "N",    "integer",  8,     "so many of those that ran meanwhile; 0: none", most = 64 },
  { "stack,S",                           "with the stack in which it was woken" },
  arguments = 0,
}
if up.target().cpus then up.args.fail "--cpu: a thread is moved to other CPUs, and its waits would be missing" end

local known = up.hash { max = 65536 } -- threads of the target that have left a CPU
up.raw_tracepoint("sched_switch", function(e)
  if sched.ends(e) then known[e.tid] = nil elseif e.tid ~= 0 and not known[e.tid] then known[e.tid] = 1 end
end)

local function left(e) return { woken = false } end
local function woken(e) return { woken = true } end
if options.stack then
  function left(e) return { woken = false, stack = e:stack() } end
  function woken(e) return { woken = true, stack = e:stack() } end
end

-- A wait begins where a thread leaves the CPU and could go on, or where one that sleeps is woken, in whichever context:
-- one that still stands in a queue has not slept. It ends with the switch to it.
local function woken_thread(e) return e.args.p.pid end
local waits = span.new {
  from = {
    { "raw_tracepoint:sched_switch", all = true, key = function(e) return e.tid end, keep = left,
      where = function(e) return e.traced and e.tid ~= 0 and sched.goes_on(e) end },
    { "raw_tracepoint:sched_waking", all = true, key = woken_thread, keep = woken,
      where = function(e) return known[e.args.p.pid] and e.args.p.on_rq == 0 end },
  },
  via = { { "raw_tracepoint:sched_migrate_task", all = true, key = woken_thread } },
  to  = { "raw_tracepoint:sched_switch", all = true, key = function(e) return e.args.next.pid end,
          keep = function(e) return { name = e.args.next.comm } end },
}
local took = up.hdr(2, { unit = "ns" })
waits:done(function(s) took:add(s.elapsed) end)

local function why(s)
  local cause = s.from.woken and ("woken by %s (thread %d)"):format(s.from.comm, s.from.tid) or
    "its CPU was given to another thread"
  return s.via[1] and cause .. ", moved to another CPU" or cause
end

-- A line for each that ran on its CPU meanwhile, who had it for longest first.
local function below(s)
  local list, threads, by_tid, others = {}, {}, {}, 0
  local ran, unknown = sched.meanwhile(s)
  for _, one in ipairs(ran) do
    local thread = by_tid[one.tid]
    if not thread then
      thread = { name = one.tid == 0 and "idle" or ("%s (thread %d)"):format(one.comm, one.tid), took = 0 }
      by_tid[one.tid], threads[#threads + 1] = thread, thread
    end
    thread.took = thread.took + one.took
  end
  table.sort(threads, function(a, b) return a.took > b.took end)
  local function add(ns, what) if ns > 0 then list[#list + 1] = ("    %9s  %s"):format(text.time(ns), what) end end
  for i, thread in ipairs(threads) do
    if i <= options.most then add(thread.took, thread.name) else others = others + thread.took end
  end
  add(others, "others")
  add(unknown, "not kept: before that")
  return list
end

local lines = view.stream {
  { "since", "Since", "clock" }, { "took", "Waited", "ns", 9 }, { "cpu", "CPU", "number", 4 },
  { "tid", "TID", "number", 8 }, { "comm", "Thread", "text", 16 }, { "why", "Why" },
}
lines:titles()
local longest = { took = 0 }
waits:slow(options.than, { window = options.most > 0 and sched.WINDOW or nil }, function(s)
  if s.elapsed > longest.took then
    longest = { took = s.elapsed, tid = s.key, comm = s.to.name, since = s.from.time }
  end
  lines:print({ since = s.from.time, took = s.elapsed, cpu = s.to.cpu, tid = s.key, comm = s.to.name, why = why(s),
                stack = s.from.stack }, options.most > 0 and below(s) or nil)
end)

up.at_exit(function()
  local h = took:get()
  if waits:counts().ended == 0 then return up.printf("no thread waited for a CPU\n") end
  up.printf("%s: p50 %s, p99 %s, longest %s, in all %s\n", text.plural(h.count, "wait"), text.time(h:percentile(50)),
    text.time(h:percentile(99)), text.time(h.max), text.time(h.sum))
  if longest.tid then
    up.printf("the longest: %s of %s (thread %d) since %s\n", text.time(longest.took), longest.comm, longest.tid,
      up.clock(longest.since))
  end
end)
