-- Watchpoints: each access, by its value, in all threads; by name, by address; and what is refused.
local tap = require "tap"
local target = require "target"
local ok, is, like = tap.ok, tap.is, tap.like

local PROGRAM = "./build/targets/watched"
local WRITES, EACH, THREADS = 101, 23, 4

local path = target.folder() .. "-watch.lua"
local file = assert(io.open(path, "w"))
file:write(([[
local up = require "uplua"
local P = "./build/targets/watched:"
local values, pairs_of, quiet, seen = up.hash(), up.count(), up.count(), up.count()
up.watch(P .. "counter", "w", function(e)
  values[e.value] = (values[e.value] or 0) + 1
  seen[{ e.probe, e.comm, e.ip > 0, e.addr %% 8 }]:inc()
end)
up.watch(P .. "small", "w", function(e) values[e.value] = (values[e.value] or 0) + 1 end)
up.watch(P .. "pair+4", { "w", size = 4 }, function(e)
  pairs_of[{ e.tid ~= e.pid, e.value >= 1 and e.value <= %d }]:inc()
end)
up.watch(P .. "quiet", "rw", function(e) quiet[{ e.value, e:ustack(1) }]:inc() end)
up.after(0, function() if arg[1] then io.stderr:write "tracing\n" end end) -- for target.attached
up.at_exit(function()
  for value, n in values:pairs() do print("value", value, n) end
  for k, n in pairs_of:pairs() do print("pair", tostring(k[1]), tostring(k[2]), n) end
  for k, n in quiet:pairs() do print("quiet", k[1], k[2]:frames()[1].symbol, n) end
  for k, n in seen:pairs() do print("seen", k[1], k[2], tostring(k[3]), k[4], n) end
end)
]]):format(THREADS))
file:close()

local function check(run, what)
  local values, once = 0, true
  for value, n in run.out:gmatch "value\t(%S+)\t(%d+)" do
    values = values + 1
    once = once and n == "1" and math.abs(tonumber(value)) <= WRITES and value ~= "0"
  end
  is(values, 2 * WRITES, what .. ": each written value is seen, negative ones of a short too")
  ok(once, "… once")
  is(run.out:match "pair\t(.-)\n", "true\ttrue\t" .. THREADS * EACH,
    "a part of a variable, by threads that were there before and by later ones")
  is(run.out:match "quiet\t(.-)\n", "7\tmain\t" .. EACH, "reads, which leave the value as it is")
  is(run.out:match "seen\t(.-)\n", PROGRAM .. ":counter\twatched\ttrue\t0\t" .. WRITES,
    "e.probe, e.comm, e.ip and e.addr")
end

-- What is asked only where watchpoints see each access and end nobody.
local watches = target.watches "w" and target.watches "rw" and target.watches "x"
local run
if watches then
  run = target.uplua(path .. " -- " .. PROGRAM)
  is(run.err, "", "a command: nothing is lost")
  is(run.status, 0, "… and it ends as it does alone")
  like(run.out, "done 161", "… having done its work")
  check(run, "a command")
  run = target.attached(PROGRAM .. " wait", path .. " tell", true)
  is(run.status, 0, "a process that runs")
  check(run, "a process")

  -- By address; executions.
  run = target.attached(PROGRAM .. " wait", [[-e '
    n, calls = count(), count()
    local at = address "./build/targets/watched:counter"
    watch(at, { "w", size = 8 }, function(e) n[e.addr == u64(at)]:inc() end)
    after(0, function() io.stderr:write "tracing\n" end)
    watch("./build/targets/watched:count", "x", function(e) calls[e:ustack(1)]:inc() end)
    at_exit(function() print("n", n[true]) for stack, c in calls:pairs() do
      print("x", tostring(stack):match "count%+0x0", c) end end)']], true)
  like(run.out, "n\t101\n", "by address, which up.address gives")
  like(run.out, "x\tcount%+0x0\t101\n", "executions of a function")
end

-- With the option, so that what is wrong with the script is told on each machine.
local function refused(code, want, what, command)
  local said = target.uplua(("--trust-watchpoints -e '%s' -- %s"):format(code, command or PROGRAM))
  like(said.err, want, what)
  return said
end
local W = PROGRAM:gsub("%p", "%%%0")
refused('watch("./build/targets/watched:countre", "w", function() end)',
  "%-e:1: watch " .. W .. ":countre: no such variable in .*; did you mean counter%?", "an unknown variable")
refused('watch("./build/targets/watched:main", "w", function() end)',
  "main in .* is a function, not a variable; watch it with \"x\"", "a function")
refused('watch("./build/targets/watched:counter+4", { "w", size = 8 }, function() end)',
  "counter%+4 in .* has only 4 bytes",
  "more than the variable has")
refused('watch("./build/targets/watched:counter+8", { "w", size = 8 }, function() end)', "counter has only 8 bytes",
  "behind the variable")
refused('watch("./build/targets/watched:odd", "w", function() end)',
  "how many bytes of .*odd.* are meant, { \"w\", size = 1 }, 2, 4 or 8, or behind a spec :w:1, .* or :8%? It has 64",
  "no size")
refused('watch("./build/targets/watched:odd", { "w", size = 3 }, function() end)',
  "watch: option 'size': it is 1, 2, 4 or 8, not 3", "three bytes")
refused('watch(0x1001, { "w", size = 2 }, function() end)', "watch: 0x1001 is not a multiple of 2: the CPU watches",
  "an odd address")
refused('watch("./build/targets/watched:counter", "r", function() end)',
  "option 'access': it is \"w\", \"rw\" %(CPUs watch for reads only together with writes%) or \"x\", not 'r'",
  "reads alone")
refused('watch(0.5, { "w", size = 1 }, function() end)', "watch: 0.5 is no address of a process", "a fraction")
refused('n = count() watch("./build/targets/watched:count", "x", function(e) n[e.value]:inc() end)',
        "e.value is what was read or written; this watchpoint is on execution", "the value of an execution")
refused('n = count() watch("./build/targets/watched:counter", "w", function(e) n[e.period]:inc() end)',
  "the event of a watch has no field 'period'; it has .*addr, value", "e.period")
like(target.uplua([[-e 'watch("./build/targets/watched:counter", "w", function() end)']]).err,
  "%-e:1: watch: a variable is somewhere else in each process: name one, %-p PID, or %-%- COMMAND", "no target")

-- Without a target an address is watched in all processes: this program and its child write there once each. The kernel
-- may write there, too, when it starts programs.
run = watches and target.shell [[
  set -m
  ./uplua -e 'n = count()
    watch(0x230000001000, { "w", size = 1 }, function(e)
      if i64(e.ip) > 0 then n[{ e.comm:starts "everywhere", e.pid }]:inc() end
    end)
    after(0, function() io.stderr:write "tracing\n" end)
    at_exit(function()
      local processes, hits = 0, 0
      for k, m in n:pairs() do if k[1] then processes, hits = processes + 1, hits + m end end
      print("seen", processes, hits)
    end)' >"$D/out" 2>"$D/err" </dev/null & uplua=$!
  until_traces
  build/targets/probe_kinds everywhere >"$D/target"
  kill -INT $uplua
  wait $uplua]]
if run then
  is(run.err, "tracing\n", "an address in all processes: nothing is lost")
  is(run.out:match "seen\t(.-)\n", "2\t2", "… each write by each process")
end

-- The kernel's variables, where it lists them: /proc/kallsyms of some kernels has functions only.
local listed = os.execute "grep -q ' [bBdD] jiffies$' /proc/kallsyms" == 0
local JIFFIES = [[-e 'n, values, last = count(), count(), var(0)
  watch("kernel:jiffies", { "w", size = 8 }, function(e)
    n:inc()
    values[{ e.value > last:get(), e.addr > 0x8000000000000000ULL, i64(e.ip) < 0, e.probe }]:inc()
    last:set(e.value)
  end)
  at_exit(function() print("seen", n:get() > 0, values:get { true, true, true, "kernel:jiffies" } == n:get()) end)']]
run = target.uplua("--duration 1 " .. JIFFIES)
if listed and not watches then
  like(run.err, "watch kernel:jiffies: hardware breakpoints ", "a variable of the kernel where there can be no trust")
elseif listed then
  is(run.err, "", "a variable of the kernel: nothing is lost")
  is(run.out:match "seen\t(.-)\n", "true\ttrue", "… each tick, with a value above the last one's")
else
  like(run.err, "^uplua: %-e:2: watch kernel:jiffies: the kernel has no such symbol, or does not list its variables",
    "a variable of the kernel that is not listed")
end
like(target.uplua([[-e 'watch("kernel:no_such", { "w", size = 8 }, function() end)']]).err,
  "watch kernel:no_such: the kernel has no such symbol", "a variable that there is not")

-- What only the process tells: the command is found not to have run.
run = refused('n = count() watch(4096, { "w", size = 8 }, function(e) n:inc() end)',
  "watch 0x1000: nothing is mapped at 0x1000 in process %d+", "an address where nothing is")
is(run.status, 1, "… is an error")
ok(not run.out:find "done", "… before the command has begun")
run = refused('n = count() watch("./build/targets/watched:odd+1", { "w", size = 2 }, function(e) n:inc() end)',
  "is not a multiple of 2", "a variable's odd byte")
run = refused('n = count() watch("./build/targets/watched:counter", "w", function(e) n:inc() end)',
              "watch " .. W .. ":counter: the process has not mapped /%S+/build/targets/watched",
                "a variable of another program", "./build/targets/busy calls")
run = refused([[n = count() for i = 0, 32, 8 do
  watch("./build/targets/watched:odd+" .. i, { "w", size = 8 }, function(e) n:inc() end) end]],
              "watch .*odd%+%d+: no debug register is free: the CPU has only 4, and other watchpoints, " ..
              "gdb or perf may have some too", "five watchpoints")
ok(not run.out:find "done", "… before the command has begun")

run = target.uplua([[--explain -e 'n = count()
  watch("./build/targets/watched:pair+4", { "w", size = 4 }, function(e) n[e.value]:inc() end)' -- ]] .. PROGRAM)
like(run.out,
  "watch " .. W .. ":pair%+4\n  at       writes of 4 bytes at .*pair%+4 in%s+/.*watched,%s+by%s+a%s+debug%s+register",
  "--explain")
run = target.uplua([[--trust-watchpoints -e 'n = count()
  watch("./build/targets/watched:counter", "w", function(e) n:inc() end)
  print "quick" exit()' -- false]])
is(run.out:match "quick", "quick", "a run that ends before it begins")
run = target.uplua([[--trust-watchpoints -e 'n = count()
  watch(0x1000, { "w", size = 8 }, function(e) n:inc() end)' -- ./build/targets/nosuch]])
like(run.err, "nosuch", "a command that is not there")
os.remove(path)
target.done()
tap.done_testing()
