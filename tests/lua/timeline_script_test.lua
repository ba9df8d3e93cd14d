-- scripts/timeline.lua: marks, calls, events and CPUs of programs that know what they do.
local cjson  = require "cjson"
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local FILE, MARKER = target.folder() .. "-t.json", target.folder() .. "-d/trace_marker"
local SHOP, MARKS, PASTIMES = "./build/examples/shop", "./build/targets/marks", "./build/targets/pastimes"
os.execute("mkdir -p " .. target.folder() .. "-d")

local function run(options, command)
  local ran = target.uplua(("timeline.lua %s -o %s -- %s"):format(options, FILE, command))
  is(ran.status, 0, "timeline.lua " .. options)
  local good, events = pcall(cjson.decode, target.read(FILE))
  ok(good, "its file is JSON", not good and events)
  return good and events or {}, ran
end

-- How many of EVENTS are of this PHASE and NAME, and how long they are in all, in ns; the last one.
local function of(events, phase, name)
  local n, ns, last = 0, 0, nil
  for _, e in ipairs(events) do
    if e.ph == phase and e.name == name then n, ns, last = n + 1, ns + (e.dur or 0) * 1000, e end
  end
  return n, ns, last
end

-- --- marks ---

local stolen = target.stolen() -- while the machine stands still, each of two clocks may go on
local events, ran = run("--marks", MARKS .. " " .. MARKER)
is(ran.err, "", "nothing is lost")
is(of(events, "X", "outer"), 101, "spans of a thread")
is(of(events, "X", 'inner "0"') + of(events, "X", 'inner "1"'), 101, "those in them, of two names")
is(of(events, "X", "job"), 23, "spans that begin and end anywhere")
local count, _, last = of(events, "C", "round")
is(count .. " " .. last.args.value, "101 100", "a counter")
is(of(events, "i", "Everything is done"), 1, "a text")
is(of(events, "X", "for ever"), 1, "one that does not end is there, too")
like(ran.out, "1 marks began and did not end: drawn to the end of the run\n1 marks ended what had not begun",
  "it is told")
local known = tonumber(ran.out:match "inner (%d+)")
local _, even = of(events, "X", 'inner "0"')
local _, odd = of(events, "X", 'inner "1"')
-- A mark takes a system call, and its probe; the clock is read between them.
ok(even + odd >= known and even + odd <= 2 * known + 20e6 + target.stolen() - stolen,
   "the spans are as long as by the program's clock",
   ("%.3f ms, not %.3f"):format((even + odd) / 1e6, known / 1e6))

-- --- calls and events ---

events, ran = run(("--calls '%s:[ds]el*' --events 'usdt:%s:shop:*'"):format(SHOP, SHOP), SHOP)
is(of(events, "X", "sell") .. " " .. of(events, "X", "deliver"), "101 213", "calls by function")
is(of(events, "i", "shop:sold"), 86, "hits of a USDT probe")
events = run(("--args --calls %s:sell --events syscall:exit_group"):format(SHOP), SHOP)
local calls, _, call = of(events, "X", "sell")
is(calls, 101, "calls with their arguments")
ok(call and call.args.customer and call.args.returned, "by name", call and cjson.encode(call))
count, _, last = of(events, "i", "exit_group")
is(count .. " " .. (last.args.error_code or last.args.status or "?"), "1 0", "a system call's")

-- --- CPUs ---

stolen = target.stolen()
events, ran = run("--cpus", PASTIMES)
local _, computed = of(events, "X", "computes")
local ran_for = tonumber(ran.out:match "computes %d+ %d+ (%d+)")
if ran_for > 0 then
  ok(math.abs(computed - ran_for) <= 0.1 * ran_for + 20e6 + target.stolen() - stolen,
     "a thread is on CPUs as long as the kernel says",
     ("%.3f ms, not %.3f"):format(computed / 1e6, ran_for / 1e6))
end
local lanes = {}
for _, e in ipairs(events) do
  if e.name == "thread_name" then lanes[#lanes + 1] = e.args.name:match "%(%d+%)" end
end
is(table.concat(lanes), "", "one thread at a time has a CPU")

-- --- what cannot be ---

local folder = target.folder() .. "-timeline-here"
os.execute("mkdir " .. folder)
local here = io.popen(("cd %s && %s/uplua --duration 100ms timeline.lua -C")
  :format(folder, io.popen "pwd":read())):read "*a"
like(here, "^wrote timeline%.json in this folder: [%d,]+ events, which ui%.perfetto%.dev draws\n$", "where the file is")
local _, lines = target.read(folder .. "/timeline.json"):gsub('\n{"ph":', "")
is(tonumber((here:match("([%d,]+) events"):gsub(",", ""))), lines, "… and that many events are in it")
os.execute("rm -r " .. folder)
like(target.uplua("timeline.lua -o /nowhere/t.json -- true").err,
  "%-%-output: cannot write /nowhere/t%.json: No such file", "a file that cannot be written")
events, ran = run("--calls " .. SHOP .. ":sell --size 4K", SHOP)
like(ran.err, "%d+ × timeline [^\n]*: events beyond its size of 4%.0 KB: not written", "a file that is full")
os.execute(("rm -rf %s %s-d"):format(FILE, target.folder()))
target.done()
tap.done_testing()
