-- The scripts on examples/shop.c, in which 23 customers give 101 orders and 86 sales are told by a USDT probe: exact
-- numbers; and what they say to wrong arguments.
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local SHOP = "./build/examples/shop"

-- Runs the script NAME with ARGUMENTS on the shop.
local function on_shop(name, arguments)
  local run = target.uplua(("scripts/%s.lua %s -- %s"):format(name, arguments, SHOP))
  is((run.err:gsub("uplua: the %a+ %a+ %a+ in [^\n]*\n", "")), "", name .. " " .. arguments)
  return (run.out:gsub("101 orders, income 355.01, receipts %x+\n", ""))
end

local function lines(text) return select(2, text:gsub("\n", "")) end

-- funccount
is(on_shop("funccount", SHOP .. ":deliver " .. SHOP .. ":sell"), "Function  Calls\ndeliver     213\nsell        101\n",
  "calls by function")
like(on_shop("funccount", "-p -n 1 '" .. SHOP .. ":[ds]el*'"),
  "^Process +PID  Function  Calls\nshop +%d+  deliver     213\n$", "by process, the most called")
like(on_shop("funccount", "usdt:" .. SHOP .. ":shop:*"), "^Function +Calls\nshop:sold +86\n$", "USDT probes")
like(on_shop("funccount", "syscall:exit_group tracepoint:sched:sched_process_exit"),
  "\nexit_group +1\nsched:sched_process_exit +1\n$", "of the kernel")

-- A place that several specs name is counted once.
local TWICE = (" '%s:del*' %s:deliver %s:deliver"):format(SHOP, SHOP, SHOP)
is(on_shop("funccount", TWICE), "Function  Calls\ndeliver     213\n", "a function that three specs name")
is(on_shop("funccount", ("usdt:%s:shop:sold 'usdt:%s:shop:*' 'usdt:shop:so*'"):format(SHOP, SHOP)),
  "Function   Calls\nshop:sold     86\n", "… a USDT probe")
is(on_shop("funccount", "'syscall:exit_g*' syscall:exit_group tracepoint:syscalls:sys_enter_exit_group"),
  "Function    Calls\nexit_group      1\n", "… a system call")
is(on_shop("funccount", "raw_tracepoint:sched_process_exit 'tracepoint:sched:sched_process_exi*'"),
  "Function            Calls\nsched_process_exit      1\n", "… a tracepoint")
like(on_shop("stackcount", "-p" .. TWICE), "\n213 hits in 4 stacks", "stackcount")
like(on_shop("funclatency", TWICE), "\ndeliver +213 ", "funclatency")
like(on_shop("top", "-i 60 -k e.func" .. TWICE), "  213 hits of 1 value in ", "top")
is(lines(on_shop("trace", "-w 'e.arg1 == 2'" .. TWICE)), 43, "trace")
is(lines(on_shop("trace", ("-w 'e.arg1 == 2' '%s:[dm]*' %s:deliver"):format(SHOP, SHOP))), 43,
  "… by a pattern that means others, too")
is(select(2, on_shop("funcslower", "--min 0 -w 'e.arg1 == 3'" .. TWICE):gsub("  deliver%(", "")), 21, "funcslower")
local once = on_shop("funccount", "tracepoint:raw_syscalls:sys_enter"):match "(%d+)\n$"
like(on_shop("top", "-i 60 -k e.pid syscall:exit_group 'syscall:*' tracepoint:raw_syscalls:sys_enter"),
  "  " .. once .. " hits of 1 value in ", "what all system calls have")

-- Functions that have a name in common are rows of their own.
like(on_shop("funccount", "libc:write 'syscall:wri*'"),
  "^Function +Calls\nwrite %(libc:write%) +1\nwrite %(syscall:write%) +1\n$", "one name of two functions")
like(on_shop("funccount", "-p libc:write syscall:write " .. SHOP .. ":sell"),
     "\nshop +%d+  sell +101\nshop +%d+  write %(libc:write%) +1\nshop +%d+  write %(syscall:write%) +1\n$",
       "… by process")
for option, columns in pairs { [""] = "", ["-c"] = " +%S+", ["-p"] = " +shop +%d+" } do
  local rows = on_shop("funclatency", option .. " libc:write syscall:write")
  like(rows, "\nwrite %(libc:write%)" .. columns .. " +1 ", "funclatency.lua " .. option)
  like(rows, "\nwrite %(syscall:write%)" .. columns .. " +1 ", "… of both")
end

-- stackcount
local path = os.tmpname()
local out = on_shop("stackcount", "-n 1 --folded " .. path .. " " .. SHOP .. ":deliver")
like(out,
  "^     deliver%+0x0\n     main%+0x%x+\n.*          86\n\n213 hits in 4 stacks, of which the most frequent is above\n",
  "the most frequent stack")
like(on_shop("stackcount", SHOP .. ":main"), "\n\n1 hit in 1 stack\n$", "one is no several")
local FILES = "scripts/stackcount.lua --folded %s --flame %s.svg %s:deliver -- %s"
like(target.uplua(FILES:format(path, path, SHOP, SHOP)).err,
  "^uplua: the flame graph is in " .. path .. "%.svg\nuplua: the folded stacks are in " .. path .. "\n$",
  "what was written is said")
local sum = 0
for line in io.lines(path) do sum = sum + (line:match "^_start;[^ ]*;main;deliver[^ ]* (%d+)$" or 0) end
is(sum, 213, "folded")
on_shop("stackcount", "-p --folded " .. path .. " " .. SHOP .. ":sell")
like(target.read(path), "^shop %(pid %d+%);_start;[^ ]*;main;sell 101\n$", "by process")
on_shop("stackcount", ("-p --before %s --flame %s.svg %s:deliver %s:sell"):format(path, path, SHOP, SHOP))
local picture = target.read(path .. ".svg")
like(picture, ">314 hits, before 101; shares are compared, by numbers before × 3.109<",
  "what differs from a run before")
like(picture, "<title>sell: 101 hits, 32.17%%; before 101, 100.00%%: %-67.83 points, × 0.32</title>",
  "… of the same functions")
like(picture, "<title>deliver: %d+ hits, [%d.]+%%; before 0, 0.00%%: new</title>", "… and of another one")
like(picture, "<title>shop: 314 hits, 100.00%%; before 101, 100.00%%: %+0.00 points, × 1.00</title>",
  "… of another process of the same name")
os.remove(path .. ".svg")

os.remove(path)

-- argdist
is(on_shop("argdist", SHOP .. ":deliver -k e.arg1"),
  "e.arg1  Hits\n0         86\n1         64\n2         42\n3         21\n", "values")
like(on_shop("argdist", "-r " .. SHOP .. ":deliver -v e.ret -w 'e.arg1 == 3'"), "count 21, avg %S+, min 1, max 1\n$",
  "a histogram of what is returned")
like(on_shop("argdist", SHOP .. ":deliver -k '{ e.comm, e.arg1 > 1 }'"), "\nshop, false +150\nshop, true +63\n$",
  "a tuple")

-- funclatency, funcslower
local NET = "\nTimes of functions are net of the probe's own %d[^\n]* us %(± %d+%.%d us%)[^\n]*%.\n$"
out = on_shop("funclatency", SHOP .. ":deliver " .. SHOP .. ":sell")
-- What the probes of sell cost within deliver is said above the table, unless something else took longer.
like(out, "%f[^\n%z]Function  Calls +p50 +p90 +p99 +p99.9 +p99.99 +Longest +Total[ ±]*\n", "latencies")
like(out, "\ndeliver +213  ", "of all calls")
like(out, "\nsell +101  ", "of each function")
like(out, NET, "… and what they are net of")
like(on_shop("funclatency", "-c -H " .. SHOP .. ":sell"),
  "\nsell +main%+0x%x+ +101  .*\n\nsell from main%+0x%x+\n.*[mun]s%)  .*%% ≤ %d[%d.]* %l?s, .*count 101, " ..
  "avg %d[%d.]* %l?s, ",
  "by caller, with histograms")
out = on_shop("funcslower", "--min 0 -w 'e.arg1 == 3' " .. SHOP .. ":deliver")
is(lines(out), 23, "all calls, since none is too fast")
like(out, NET, "… and what their times are net of")
like(out, "\n%d%d:%d%d:%d%d%.%d+  shop +%d+ +<? ?%S+ %Ss  deliver%(street=\"[%a ]+\", stops=3%) = [01]\n", "a call")
is(lines(on_shop("funcslower", "--min 1h " .. SHOP .. ":deliver")), 2, "none that took an hour")
like(on_shop("trace", "-r " .. SHOP .. ":sell"), NET, "trace says it")
like(on_shop("argdist", "-r -v e.elapsed " .. SHOP .. ":sell"), NET, "argdist does")
ok(not on_shop("argdist", "-r -v e.ret " .. SHOP .. ":sell"):find "Times of", "… where it shows times")

-- syscalls
out = on_shop("syscalls", "--errors")
like(out, "^System call +Calls  Errors +p50 +p90 +p99 +p99.9 +Longest +Total\n", "system calls")
like(out, "\nwrite +1 +%d", "one write")
like(out, "\naccess +ENOENT +1\n", "the errors by name")

-- A report each so often is of what has been since the one before: together they have all, each under its time.
for name, what in pairs {
  funccount = { "", "\ndeliver +(%d+)" }, funclatency = { "", "\ndeliver +(%d+) " },
  argdist = { "-k e.func", "\ndeliver +(%d+)" },
} do
  out = on_shop(name, ("--interval 10ms %s %s:deliver"):format(what[1], SHOP))
  sum = 0
  for calls in out:gmatch(what[2]) do sum = sum + calls end
  is(sum, 213, name .. ": all intervals together")
  local reports, times, before = 0, 0, nil
  for line in out:gmatch "[^\n]+" do
    if line:find "Calls" or line:find "Hits" then reports = reports + 1 end
    local from, to = line:match "^(%d%d:%d%d:%d%d%.%d+) to (%d%d:%d%d:%d%d%.%d+), [%d.]+ %l?s$"
    if from then
      times = times + 1
      ok(not before or before == from, name .. ": an interval begins where the one before ended")
      before = to
    end
  end
  ok(times >= 1 and reports == times, ("%s: %d reports, %d times"):format(name, reports, times))
end

-- stat, top
out = on_shop("stat", "-i 60 " .. SHOP .. ":deliver " .. SHOP .. ":sell usdt:" .. SHOP .. ":shop:sold perf:page-faults")
like(out, "^Time +deliver +sell +sold +page%-faults\n%S+ +213 +101 +86 +%d+  in [%d.]+ %l?s\nSum +213 +101 +86 +%d+\n$",
  "counts of a part of an interval, and sums")
out = on_shop("stat",
  ("perf:page-faults:u '%s:*' 'usdt:%s:shop:*' syscall:'*' %s:deliver perf:page-faults"):format(SHOP, SHOP, SHOP))
like(out, "^Time +page%-faults:u +%./build/examples/shop:%*  +shop:%*  +syscall:%*  +deliver  +page%-faults\n",
  "titles that tell columns apart")
-- the last line is of a part, if there is anything to tell of it: no line is of none
for interval in ("0.05 0.07"):gmatch "%S+" do
  -- Of a copy of its own, since the whole machine is traced, where other tests may run the shop.
  out = target.shell(('cp %s "$D/shop"; ./uplua --duration 0.25 scripts/stat.lua -i %s "usdt:$D/shop:shop:sold" ' ..
                      'perf:cpu-clock >"$D/out" 2>"$D/err"'):format(
    SHOP, interval)).out
  local all, whole, part = 0, 0, 0
  for clock, rest in out:gmatch "\n%d%d:%d%d:[%d.]+ +0 +([%d,]+)([^\n]*)" do
    all = all + tonumber((clock:gsub(",", "")))
    if rest == "" then whole = whole + 1 else part = rest:find "^  in [%d.]+ %l?s$" and part + 1 or 99 end
  end
  ok(whole >= 1 and part == 1, ("stat.lua -i %s: %d whole intervals, %d parts"):format(interval, whole, part))
  local sum = out:match "\nSum +0 +([%d,]+)\n$" or out
  is(all, tonumber((sum:gsub(",", ""))) or sum, "… which add up to the sum")
end
out = on_shop("top", "-i 60 -k e.arg1 -s e.arg0*0+1 " .. SHOP .. ":deliver")
like(out,
  "^%S+  213 hits of 4 values in %S+ %l?s, where it ended\n"
  .. "e.arg1  Hits  Per second  e.arg0%*0%+1\n0 +86 +[%d,]+ +86\n1 +64 ",
  "a table by key, with sums")

-- Rates are of the time between the attaching of the last probe and the end of the first.
run = target.shell [[
  build/targets/ticker >/dev/null & program=$!
  UPLUA_TIMING=1 ./uplua --duration 0.3 -p $program scripts/top.lua -i 60 -k e.func \
    'build/targets/ticker:*' >"$D/out" 2>"$D/err"
  kill $program
]]
local attached, detach = run.err:match "attached (%S+)\n", run.err:match "detach (%S+)\n"
local n, took, unit, rate =
  run.out:match "  (%d+) hits? of 1 value in ([%d.]+) (m?)s, where it ended\n.*\nstep +%d+ +(%d+)\n"
-- where it took longer than a second, as it is shown
local ms, rounded = took and took * (unit == "m" and 1 or 1000), unit == "m" and 0.1 or 51
ok(ms and ms >= 300 and ms < 1000 * (detach - attached) + rounded,
  ("top.lua: %s ms of %.1f"):format(ms, 1000 * (detach - attached)))
ok(ms and math.abs(rate - n / ms * 1000) <= 1 + rounded * rate / ms, ("%s hits are %s a second"):format(n, rate))

-- profile
local HERTZ = target.hertz(997)
local stolen = target.stolen()
local run = target.uplua(("scripts/profile.lua -S -F %d -b thread -n 1 -- ./build/targets/busy user 0.5"):format(HERTZ))
-- In its first milliseconds a program's mappings are not known yet, nor their tables (doc/api.md), and a sample may see
-- it then; or before that, where the registers are still those of the program that execve takes away; or as it exits,
-- when its memory is gone already. Both are a few samples, but on an emulated CPU, which takes its time for an exit.
local early = run.err:gsub("  %d+ × stack incomplete: a frame's mapping was not known\n", "")
early = early:gsub("  %d+ × stack incomplete: a frame's code has no unwind table and no frame pointer\n", "")
early = early:gsub("  %d+ × stack with frames marked as guessed: [^\n]*\n", "") -- in what gcc adds to each program
early = early:gsub(("  %s × stack incomplete: its memory could not be read\n"):format(tap.fewer("[1-9]", "%d+")), "")
is((early:gsub("^uplua: not everything was seen:\n$", "")), "", "profile")
like(run.out, "\n     busy %(pid %d+, thread %d+%)\n +%d+  %d+%.%d %%\n\n%d+ samples in %d+ stacks",
  "samples by thread")
local n, cpu, elapsed = run.out:match "\n(%d+) samples in [^\n]*; about ([%d.]+ %a+) of CPU time in ([%d.]+ %a+)\n$"
is(cpu, require "uplua.text".time((tonumber(n) or 0) * 1e9 / HERTZ), "the time on the CPU that the samples stand for")
ok(elapsed and require "uplua.text".duration((elapsed:gsub(" ", ""))) >= 5e8, "… of that of the run")
-- an emulated machine's timer is late, and one that stands still takes no samples
local used = tonumber(run.out:match "used (%d+) ms") / 1000 - (target.stolen() - stolen) / 1e9
ok(tonumber(n) > tap.fewer(0.2, 0.02) * used * HERTZ, "half a second of them", n)

run = target.uplua(("scripts/profile.lua -U -F %d -- ./build/targets/busy user 0.5"):format(HERTZ))
local self, self_share, total = run.out:match "\n *(%d+) +([%d.]+) %% +@* +(%d+) +[%d.]+ %%  [%w_]+ +busy\n"
ok(tonumber(self) and tonumber(self_share) > 50, "profile: the function that is busy, first")
ok(tonumber(self) and tonumber(total) >= tonumber(self), "its total is no less")
like(run.out, "\n%d+ samples in %d+ functions?[^\n]*; all of busy %(pid %d+%)", "functions, all of one process")
run = target.uplua(("scripts/profile.lua -U -F %d -c main -- ./build/targets/busy user 0.5"):format(HERTZ))
like(run.out, "Samples +Share  Function, and who calls it\n *%d+  100.0 %%  main\n *%d+ +[%d.]+ %% +%S",
  "callers")
run = target.uplua("scripts/profile.lua -e page-faults -U -- ./build/targets/faults 23")
like(run.out, "\n *%d+ +[%d.]+ %% +@+ +%d+ +[%d.]+ %%  [^\n]+\n", "samples of another event")
like(run.out, "\n[%d,]+ samples in [%d,]+ functions", "page faults are samples")
is(run.out:find "CPU time", nil, "… which stand for no time")
run = target.uplua "--duration 1s scripts/profile.lua -- sleep 5"
like(run.out, "[^\n]*; about [%d.]+ %a+ of CPU time in [%d.]+ s\n", "a program that sleeps: how little that was")
for _, event in ipairs { "cpu-clock:u", "perf:cpu-clock", "perf:cpu-clock:10ms", "cpu-clock@101", "task-clock:uk" } do
  run = target.uplua(("scripts/profile.lua -U -e %s -- ./build/targets/busy user 0.3"):format(event))
  -- A sample may hit the program while it begins or ends, as above.
  local said = run.err:gsub("  %d+ × stack incomplete: its memory could not be read\n", "")
  said = said:gsub("  %d+ × stack incomplete: a frame's mapping was not known\n", "")
  said = said:gsub("  %d+ × stack with frames marked as guessed[^\n]*\n", "")
  said = said:gsub("^uplua: not everything was seen:\n$", "")
  like(said, "^u?p?l?u?a?:?[^\n]*\n?$", event .. " is an event of perf's")
  like(run.out, "\n%d+ samples? in %d+ functions?[^\n]*; all of busy %(pid %d+%)", event .. " is sampled")
end
run = target.uplua("scripts/profile.lua -e libc:u -- true")
like(run.err, "^uplua: uprobe libc:u: no such function", "what is no event's modifier is a function")
run = target.uplua("scripts/profile.lua -e ./build/targets/calls:negative -- ./build/targets/calls")
like(run.out, "\n *101 +100.0 %% +@+ +101 +100.0 %%  negative +calls\n", "hits of any probe")
like(run.out, "\n101 hits in %d+ functions", "are hits")
run = target.uplua(("scripts/profile.lua -i 300ms -F %d -- ./build/targets/busy user 4"):format(HERTZ))
ok(select(2, run.out:gsub("%d%d:%d%d:%d%d%.%d+  %d+ samples? in [^\n]+\nSelf ", "")) >= tap.fewer(2, 1),
  "a table for each interval")
is(run.out:find "left out", nil, "… of all samples, also those that come while names are looked up")
like(run.err:gsub("  %d+ × stack[^\n]*\n", ""), "^u?p?l?u?a?:?[^\n]*\n?$", "and nothing is left unread")
run = target.uplua(("scripts/profile.lua -U -F %d -c descend -n 3 -- ./build/targets/busy user 0.3"):format(HERTZ))
like(run.out, "Function, and who calls it\n[^\n]+\n[^\n]+\n[^\n]+\n\n[^\n]+; the first 3 of %d+ lines",
  "--callers, --top")
run = target.uplua(("scripts/profile.lua -U -F %d -c of_none -- ./build/targets/busy user 0.2"):format(HERTZ))
like(run.out, "\n%d+ samples?, none of them in of_none", "callers of what was never seen")

-- trace, opensnoop, usdt
out = on_shop("trace", "-w 'e.arg1 == 2' " .. SHOP .. ":deliver")
is(lines(out), 43, "a line for each hit")
out = on_shop("trace", "-r syscall:write syscall:openat")
like(out, '  openat%(dfd=AT_FDCWD, filename="/etc/ld.so.cache", flags=O_RDONLY|O_CLOEXEC, mode=0%) = 3 %(',
  "arguments by name, strings as such")
like(out, '  write%(fd=1, buf="101 orders.*", count=%d+%) = %d+ %(', "what is written")
like(on_shop("trace", "-r syscall:access"), '  access%(filename="/etc/ld.so.preload", mode=R_OK%) = %-1 ENOENT %(',
  "errors by name")
out = on_shop("trace", "-r 'syscall:*'")
like(out, '  access%(filename="/etc/ld.so.preload", mode=R_OK%) = %-1 ENOENT %(.*  write%(fd=1, ' ..
          'buf="101 orders[^\n]*", count=%d+%) = ', "all system calls by one probe")
like(on_shop("trace", "'syscall:*'"), "  access%(filename=0x%x+, mode=R_OK%)\n.*  exit_group%(error_code=0%)\n",
  "… and at their entries")
like(on_shop("funcslower", "-m 1h 'syscall:*'"), "^Time +Process +TID +Took  Call\n$", "… of which none took an hour")
like(on_shop("trace", "tracepoint:sched:sched_process_exit"),
  '  sched:sched_process_exit%(comm="shop", pid=%d+, prio=%d+', "a tracepoint's fields")
out = on_shop("opensnoop", "")
like(out, "  shop +%d+ +3 +%S+ %Ss  /etc/ld.so.cache\n", "opened")
out = target.uplua("scripts/opensnoop.lua --failed -- cat /nope").out
like(out, "  cat +%d+ +ENOENT +%S+ %Ss  /nope\n", "what is not there")
ok(not out:find "ld.so.cache", "and nothing else")
out = on_shop("usdt", "count " .. SHOP .. ":shop:sold -w 'e.arg2 > 0'")
is(out, "Probe      Hits\nshop:sold    86\n", "USDT probes counted")
-- PROVIDER:NAME of the target's; what list prints
for _, spec in ipairs { SHOP .. ":shop:*", "shop:sold", "usdt:" .. SHOP .. ":shop:sold" } do
  out = on_shop("usdt", ("trace '%s'"):format(spec))
  is(lines(out), 87, "traced, below the titles")
  is(select(2, out:gsub("  shop:sold%(arg0=%-?%d+, arg1=0x%x+, arg2=%d+%)\n", "")), 86, "with their arguments")
  is(on_shop("usdt", ("count '%s'"):format(spec)), "Probe      Hits\nshop:sold    86\n", "counted")
end
like(target.uplua("scripts/usdt.lua list " .. SHOP).out,
  "^usdt:/%S+/shop:shop:sold\n    1 × arg0 i64, arg1 u64, arg2 i32\n$", "and listed")

-- offcputime, runqlat: a thread that sleeps as long as it says, and two that share a CPU
local up = require "uplua"
local began = up.now()
run = target.uplua("scripts/offcputime.lua --blocked -n 1 -- sleep 0.3")
local shown = (run.out .. run.err):match(
  "\n     do_nanosleep%+0x%x+\n.*\n     clock_nanosleep%+0x%x+\n.*\n     sleep\n +([%d.]+ m?s)  1 time\n")
local slept = shown and require "uplua.text".duration((shown:gsub(" ", ""))) or -1
ok(slept >= 3e8 and slept <= tonumber(up.now() - began), "what a program waits for, and how long", shown)
is(target.uplua("scripts/offcputime.lua --blocked --top 0 -- sleep 0.05").out:match "ptrace_stop", nil,
  "not that uplua itself holds a command at its start")
run = target.shell [[
  for i in 1 2; do taskset -c 0 build/targets/busy user 60000 >"$D/busy.$i" & pids="$pids,$!"; done
  ./uplua --duration 0.4 -p "${pids#,}" scripts/runqlat.lua -p -H >"$D/out" 2>"$D/err"
  kill ${pids//,/ }
]]
is(run.err, "", "runqlat")
like(run.out, "^Process +PID  Times +p50 +p90 +p99 +p99.9 +Longest +Total\nbusy +%d+ +%d+ .*\nbusy +%d+ +%d+ ",
  "threads that wait for each other")
like(run.out, "\nbusy %(pid %d+%)\n.*  count %d+, avg %d[%d.]* %l?s, ", "with histograms")

-- execsnoop, systrace
run = target.uplua [[--follow scripts/execsnoop.lua -x -- sh -c '/bin/echo "a b" it; /nope; exit 3']]
like(run.out, "%f[%w]Time +Process +PID +Parent  Command\n", "execsnoop")
like(run.out, "\n%S+  sh +%d+ +%d+  sh %-c '", "the command")
like(run.out, "\n%S+  echo +%d+ +%d+  /bin/echo 'a b' it\n", "what it starts, quoted")
like(run.out, "\n%S+  sh +%d+ +/nope: ENOENT\n", "what is not there")
like(run.out, "\n%S+  echo +%d+ +ended with status 0 after ", "an end")
like(run.out, "\n%S+  sh +%d+ +ended with status 3 after ", "a status")
is(run.err:find "not shown", nil, "with --follow nothing is left out")
like(target.uplua("scripts/execsnoop.lua -- sh -c '/bin/true; /bin/true; true'").err,
  "^execsnoop: the target has started 2 processes, and what they execute is not shown: uplua %-%-follow traces them\n$",
  "without --follow it is said what is")
-- The ends of the processes of last_thread WORD, without what is another each time: a process's number and its times.
local function ends(word)
  local list = {}
  for line in target.uplua("--follow scripts/execsnoop.lua -x -- build/targets/last_thread " ..
    word).out:gmatch "[^\n]+" do
    local name, how, number, unit = line:match "^%S+  (%S+) +%d+ +(ended with .-) after ([%d.]+) ([mu]?)s$"
    if name then
      local seconds = number * (unit == "m" and 1e-3 or unit == "u" and 1e-6 or 1)
      list[#list + 1] = ("%s %s after %s than 0.1 s"):format(name, how, seconds >= 0.1 and "more" or "less")
    end
  end
  return table.concat(list, ", ")
end
is(ends "status", "last_thread ended with status 3 after more than 0.1 s",
  "a process ends with its last thread, and its status is the process's")
is(ends "execute", "last_thread ended with status 7 after more than 0.1 s",
  "one whose first thread is gone executes a program, and ends once")
is(ends "none", "last_thread ended with status 0 after more than 0.1 s", "one that each thread leaves for itself")
out = target.uplua("--follow scripts/execsnoop.lua -- sh -c '/bin/true " .. ("x"):rep(255) .. " " .. ("y"):rep(601) ..
  " z'").out
like(out, "  /bin/true " .. ("x"):rep(255) .. " " .. ("y"):rep(601) .. " z\n", "long arguments are whole")
out = on_shop("systrace", "")
like(out, '  openat%(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC%) = 3 <', "a call with a string")
like(out, '  write%(1, "101 orders[^\n]*, %d+%) += %d+ <', "one with what it writes")
like(out, "  mmap%(NULL, %d+, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, %-1, 0%) = 0x7%x+ <", "flags by name")
like(out, "  exit_group%(0%) += %?\n", "the one that does not return")
like(target.uplua("scripts/systrace.lua -e read,readlinkat,readlink -- readlink /proc/self/exe").out,
  '%(.*"/proc/self/exe", "/[^"]*", %d+%) += %d+ <', "what a link holds, and its whole path")
if not tap.fewer(false, true) then -- which has no perl
  like(target.uplua("scripts/systrace.lua -e stat,fstat,readlink -- perl -e 'readlink \"/bin\"; " ..
                    "readlink \"/etc/../proc/self/exe\"; readlink \"/bin\"'").out,
    '"/bin", "usr/bin", 4095%) += 7 <.*, "/%S*perl", .*, "usr/bin", ',
      "as long as it is, whatever was there before")
end
out = on_shop("systrace", "--failed --call 'acc*,openat'")
like(out, '^%S+  shop +%d+  access%("/etc/ld.so.preload", R_OK%) += %-1 ENOENT %(No such [^)\n]*%) <[^\n]*\n$',
  "failed ones of some")

-- Texts that are cut say so, and are no more than what belongs to the call.
local TEXTS = "./build/targets/texts"
for bytes in ("64 65 255"):gmatch "%d+" do
  local want = {}
  for count = 62, 68 do
    want[#want + 1] = ('"%s"%s, %d'):format(("x"):rep(math.min(count, tonumber(bytes))),
      count > tonumber(bytes) and "..." or "", count)
  end
  for count = 3, 6 do want[#want + 1] = ('"%s", %d'):format(("abc\\342\\200\\246"):sub(1, 4 * count - 9), count) end
  out, sum = target.uplua(("scripts/systrace.lua -e write -s %s -- %s"):format(bytes, TEXTS)).out, {}
  for text, count in out:gmatch 'write%(%-1, ("[^"]*"%.*), (%d+)%)' do
    sum[#sum + 1] = text .. ", " .. count
  end
  is(table.concat(sum, "\n"), table.concat(want, "\n"), "systrace.lua -s " .. bytes)
end
out = target.uplua("scripts/trace.lua -r syscall:write -- " .. TEXTS).out
like(out, 'buf="abc", count=3.*buf="abc\\xe2", count=4.*buf="abc\\xe2\\x80", count=5.*buf="abc…", count=6', "trace.lua")
run = target.uplua("scripts/opensnoop.lua --name needle -- " .. TEXTS)
is(run.err, "", "opensnoop.lua")
sum = {}
for path in run.out:gmatch "  (/nope/[./]*needle)\n" do sum[#sum + 1] = #path end
is(table.concat(sum, " "), "255 256 321 4095", "paths as long as the kernel takes them, by what they end in")
like(target.uplua("scripts/execsnoop.lua --name needle: -- " .. TEXTS).out,
  "\n%S+  texts +%d+ +/nope/[./]*needle: ENOENT\n", "the same of a program that is not there")

-- What follows asks nothing of the kernel that the rest has not asked.
if not target.has "uprobe_multi" then
  target.done()
  tap.done_testing()
end

-- --scripts
run = target.uplua "--scripts"
is(run.err, "", "--scripts")
like(run.out, "\nprofile.lua +where does the CPU time go%?\n", "a line for each")
for line in run.out:gmatch "[^\n]+" do like(line, "^%S+%.lua +%w.*", "with what it is for: " .. line) end

-- What is wrong with the arguments
local function wrong(arguments, status, want)
  local result = target.uplua("scripts/" .. arguments)
  is(result.status, status, arguments)
  like(result.err, want, want)
end
for _, name in ipairs { "funccount", "stackcount", "funclatency", "funcslower", "stat", "top", "trace" } do
  wrong(name .. ".lua", 2, "^" .. name .. ".lua: .*; see %-%-help\n$")
  wrong(name .. ".lua libc:mallok -- true", 1, "^uplua: u%a+ libc:mallok: no such function in %S+; did you mean malloc")
end
for _, name in ipairs { "funccount", "stackcount", "argdist", "funclatency", "funcslower", "syscalls", "stat", "top",
                        "profile", "trace", "opensnoop", "usdt", "mallocleak", "offcputime", "runqlat", "execsnoop",
                          "systrace" } do
  wrong(name .. ".lua --no-such-thing", 2, "^" .. name .. ".lua: unknown option '%-%-no%-such%-thing'; see %-%-help\n$")
  local help = target.uplua("scripts/" .. name .. ".lua --help")
  like(help.out, "\n\n[an ]*examples?:\n  uplua %S", name .. " --help shows how it is called")
  is(help.status, 0, name .. " --help")
  like(help.out, "^usage: uplua " .. name ..
    "%.lua [^\n]*\n\n[^\n]+\n\n .*\n  %-%-help +print this and exit\n\nas every script:\n.*\n\n"
      .. "uplua's own options .* uplua %-%-help\n$",
      "prints what it is for, and its options")
end
wrong("argdist.lua libc:malloc --key 'e.arg0 /' -- true", 1,
  "^uplua: %-%-key 'e.arg0 /': unexpected symbol near '<eof>'\n$")
wrong("argdist.lua libc:malloc --key 'e.argo' -- true", 1,
  "^uplua: %-%-key 'e.argo': the event of a uprobe has no field 'argo'; ")
wrong("argdist.lua libc:malloc --key 'e.arg0) or (e.arg1' -- true", 1,
  "^uplua: %-%-key 'e.arg0%) or %(e.arg1': '<eof>' expected near '%)'\n$")
for _, given in ipairs { "--key ''", "--value ''", "--where ' '", "--where '-- none'", "--key 'e.pid, e.tid'",
  "--value 'e.arg0, 1'" } do
  local option, expression = given:match "^%-%-(%a+) (.*)$"
  wrong("argdist.lua libc:malloc " .. given .. " -- true", 1,
    ("^uplua: %%-%%-%s %s: one expression is expected, such as "):format(option, (expression:gsub("%-", "%%-"))))
end
wrong([[argdist.lua libc:malloc --key '{ a = "it is no b", c = d }' -- true]], 1,
  "^uplua: %-%-key '[^\n]*': there is no 'd' here; ")
wrong("argdist.lua libc:malloc libc:free -- true", 2,
  "^argdist.lua: one spec is expected, such as libc:malloc, not 2; see")
wrong("argdist.lua libc:malloc --key -- true", 2,
  "^argdist.lua: option '%-%-key' needs a value: %-%-key %[NAME=%]EXPR; see")
wrong("funcslower.lua usdt:./app:a:b -- true", 1, "^uplua: usdt:./app:a:b: probes of the kind usdt have no return\n$")
wrong("trace.lua syscall:opnat", 1, "^uplua: syscall opnat: the kernel has no such system call; did you mean openat")
wrong("profile.lua --by core", 2, "^profile.lua: %-%-by: process, thread, cgroup, container, cpu or an expression of "
  .. "the event such as e.uid, not 'core'; see")
wrong("profile.lua --flame /nope/x", 2, "^profile.lua: %-%-flame: cannot write /nope/x: No such file or directory; see")
wrong("profile.lua --folded /nope/x", 2,
  "^profile.lua: %-%-folded: cannot write /nope/x: No such file or directory; see")
for _, option in ipairs { "flame", "folded" } do
  run = target.uplua(("scripts/stackcount.lua --%s /dev/full %s:sell -- %s"):format(option, SHOP, SHOP))
  like(run.err, ("^uplua: %%-%%-%s: cannot write /dev/full: No space left on device\n"):format(option),
    "a disk that is full at the end")
  is(run.status, 1, "… with its status")
end
run = target.shell('./uplua scripts/stackcount.lua --help 2>"$D/err" >/dev/full')
is(run.err, "uplua: cannot write the output: No space left on device\n", "help that nobody can read")
is(run.status, 1, "… with its status")
wrong("offcputime.lua --before x", 2,
  "^offcputime.lua: %-%-before is for a flame graph, which %-%-flame FILE draws; see")
wrong("stackcount.lua --flame /dev/null --before /nope/x sell", 2,
  "^stackcount.lua: %-%-before: cannot read /nope/x: No such file or directory; see")
wrong("profile.lua --flame /dev/null --before doc/api.md", 2,
  "^profile.lua: %-%-before: doc/api.md:1: no number ends the line; see")
wrong("profile.lua --duration 5", 2, "^profile.lua: option '%-%-duration' is uplua's own, " ..
                                     "which stands before the script's name: uplua %-%-duration … profile.lua; see")
wrong("opensnoop.lua -p 1", 2, "^opensnoop.lua: option '%-p' is uplua's own, ")
wrong("trace.lua openat", 1, "^uplua: 'openat' names no probe: write KIND:NAME or BINARY:FUNCTION, " ..
                             "such as syscall:openat or libc:malloc; did you mean syscall:openat%?\n$")
wrong("trace.lua ./build/targets/calls", 1,
  "^uplua: '%./build/targets/calls' names no probe: .*; did you mean '%./build/targets/calls:%*'%?\n$")
wrong("funccount.lua redis-server", 1,
  "^uplua: 'redis%-server' names no probe: .*; the command or PID to trace comes after %-%-\n$")
wrong("stat.lua page-faults", 1,
  "^uplua: 'page%-faults' names no probe: .*; did you mean perf:page%-faults%?\n$")
wrong("profile.lua -i 1s --flame x.svg", 2, "^profile.lua: %-%-interval is for tables and folded stacks; leave")
wrong("profile.lua -I -S", 2, "^profile.lua: %-%-stacks and %-%-instructions: choose one; see")
wrong("profile.lua -e no-such -- true", 1, "^uplua: perf no%-such: no such event")
wrong("profile.lua --hertz 0", 2, "^profile.lua: option '%-%-hertz': 0 is below the least, 1; see")
wrong("usdt.lua draw x", 2, "^usdt.lua: 'draw': there is list, trace and count; see")
wrong("usdt.lua trace shop:slod -- " .. SHOP, 1,
  "^uplua: usdt shop:slod: no such USDT probe in the target's modules; did you mean sold%?\n$")
wrong("usdt.lua list /bin/sh", 1, "^uplua: usdt:/bin/sh: there are no such USDT probes\n$")
run = target.shell([[./uplua scripts/trace.lua ]] .. SHOP .. [[:deliver -- ]] .. SHOP ..
  [[ 2>"$D/err" | head -n 3 >"$D/out"]])
is(run.err, "", "| head")
is(lines(run.out), 3, "sees what it wants")
target.done()

tap.done_testing()
