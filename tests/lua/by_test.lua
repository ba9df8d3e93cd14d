-- --by of the scripts: processes, threads, CPUs, expressions; cgroups and containers by the names that runtimes give,
-- of those that are there, that come and that are gone again before the report.
local by     = require "uplua.by"
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local SHOP = "./build/examples/shop"
local DELIVER, SELL = SHOP .. ":deliver", SHOP .. ":sell"

-- The names of containers.
local A, B = ("a1b2"):rep(16), ("0c1d2e3f"):rep(8)
for path, name in pairs {
  ["/system.slice/docker-" .. A .. ".scope"] = "docker-a1b2a1b2a1b2",
  ["/system.slice/docker-" .. A .. ".scope/init.scope"] = "docker-a1b2a1b2a1b2",
  ["/docker/" .. B] = "docker-0c1d2e3f0c1d",
  ["/machine.slice/libpod-" .. B .. ".scope/container"] = "libpod-0c1d2e3f0c1d",
  ["/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod12ab.slice/cri-containerd-" .. A .. ".scope"] =
    "cri-containerd-a1b2a1b2a1b2",
  ["/kubepods.slice/crio-" .. A .. ".scope"] = "crio-a1b2a1b2a1b2",
  ["/kubepods/burstable/pod2f1c-77/" .. B] = "kubepods-0c1d2e3f0c1d",
  ["/docker/" .. A .. "/kubepods/besteffort/podab/" .. B] = "kubepods-0c1d2e3f0c1d", -- the innermost
  ["/lxc.payload.web/system.slice/cron.service"] = "lxc-web",
  ["/lxc/web"] = "lxc-web",
  ["/machine.slice/machine-deb12.scope"] = "machine-deb12",
} do
  is(by.container(path), name, path)
end
for _, path in ipairs {
  "/", "", "/system.slice/cron.service", "/system.slice/docker-" .. A:sub(1, 63) .. ".scope", "/docker",
  "/machine.slice/libpod-conmon-" .. A .. ".scope", "/kubepods.slice", "/lxc.monitor.web",
  "/user.slice/machine-deb12.scope", "/docker-" .. ("x"):rep(64) .. ".scope",
} do
  is(by.container(path), nil, "no container: " .. path)
end

local function on_shop(arguments)
  local run = target.uplua(("%s -- %s"):format(arguments, SHOP))
  is(run.err, "", arguments)
  return (run.out:gsub("101 orders, income 355.01, receipts %x+\n", ""))
end

-- Each script by what needs no cgroups.
like(on_shop(("funccount.lua --by process %s %s"):format(DELIVER, SELL)),
  "^Process +PID  Function  Calls\nshop +%d+  deliver     213\nshop +%d+  sell        101\n$", "funccount by process")
like(on_shop("funccount.lua -b thread " .. SELL),
  "^Thread +PID +TID  Function  Calls\nshop +%d+ +%d+  sell        101\n$", "… by thread")
is(on_shop("funccount.lua --by 'e.arg1 % 2' " .. SELL),
  "e.arg1 % 2  Function  Calls\n0           sell         53\n1           sell         48\n", "… by an expression")
is(on_shop("funccount.lua --by 'e:ustack(1)' " .. SELL),
  "e:ustack(1)  Function  Calls\nsell+0x0     sell        101\n", "… by a stack")
is(on_shop("--format csv funccount.lua --by '{ e.arg1 % 2, e.comm }' " .. SELL),
  'by,func,calls\n"0, shop",sell,53\n"1, shop",sell,48\n', "… by several values, as data")
like(on_shop("funccount.lua --by process libc:write syscall:write"),
  "^Process +PID  Function +Calls\nshop +%d+  write %(libc:write%) +1\nshop +%d+  write %(syscall:write%) +1\n$",
  "… of two functions of one name")
local cpus = 0
for n in on_shop("funccount.lua --by cpu " .. SELL):gmatch "sell +(%d+)\n" do cpus = cpus + tonumber(n) end
is(cpus, 101, "… by CPU")
like(on_shop("stackcount.lua --by 'e.arg1 % 2' --top 1 " .. SELL), "\n     0\n +53\n\n101 hits in 2 stacks",
  "stackcount by an expression")
like(on_shop("stackcount.lua --by thread --top 1 " .. SELL), "\n     shop %(pid (%d+), thread %d+%)\n +101\n",
  "… by thread")
local latency = on_shop(("funclatency.lua --by 'e.arg1 %% 2' --by-caller --histogram %s"):format(SELL))
like(latency, "\nsell +main%+0x%x+ +0 +53 ", "funclatency by an expression, and by caller")
like(latency, "\nsell from main%+0x%x+ in 1\n", "… each with its histogram")
like(on_shop("funclatency.lua --by process libc:write syscall:write"), "\nwrite %(syscall:write%) +shop +%d+ +1 ",
  "… of two functions of one name")
like(on_shop(("argdist.lua --by process %s"):format(SELL)), "^Process +PID  Function  Hits\nshop +%d+  sell +101\n$",
  "argdist by process")
is(on_shop(("argdist.lua --by 'e.arg1 %% 2' --key e.comm %s"):format(SELL)),
  "e.arg1 % 2  e.comm  Hits\n0           shop      53\n1           shop      48\n", "… and by key")
like(on_shop(("argdist.lua --by 'e.arg1 %% 2' --value e.arg1 %s"):format(SELL)),
  "^e.arg1 %% 2  Hits  p50 .*\n\n0\n.*  count 53, .*\n1\n.*  count 48, ",
  "… a histogram for each")
like(on_shop(("argdist.lua --by process --key 'e.arg1 %% 2' --value e.arg1 %s"):format(SELL)),
  "\n\nshop %(pid %d+%), 0\n.*  count 53, .*\nshop %(pid %d+%), 1\n.*  count 48, ", "… for each and key")
like(on_shop "syscalls.lua --by thread --errors", "^Thread +PID +TID  System call +Calls .*\nshop +%d+ +%d+  write +1 ",
  "syscalls by thread")
like(on_shop "syscalls.lua --by e.uid", "^e.uid  System call +Calls .*\n0 +write +1 ", "… by an expression")

-- What waits and runs.
local naps = " -- perl -e 'for (1..11) { select undef, undef, undef, 0.01 }'"
local run
if os.execute "command -v perl >/dev/null" ~= 0 then
  tap.skip "there is no perl here"
else
  run = target.uplua("runqlat.lua --by cpu" .. naps)
  local times = 0
  for n in run.out:gmatch "\n +%d+ +(%d+) " do times = times + tonumber(n) end
  ok(times >= 11 and run.out:find "^CPU  Times", "runqlat by CPU")
  like(target.uplua("runqlat.lua --by process" .. naps).out, "^Process +PID  Times.*\nperl +%d+ +%d+ ", "… by process")
  like(target.uplua("offcputime.lua --blocked --by thread" .. naps).out,
    "\n     perl %(pid %d+, thread %d+%)\n +[%d.]+ ms +%d+ times\n", "offcputime by thread")
end

-- Threads with names of their own are one process, of the main thread's name.
local by_process = target.shell([[
  mkfifo "$D/in"
  build/targets/family threads <"$D/in" >"$D/target" &
  program=$!
  exec 7>"$D/in"
  until_said ready
  ./uplua -e '
    local n, key = count(), require "uplua.by".new "process".key
    uprobe("libc:free", function(e) n[key(e)]:inc() end)
    at_start(function() io.stderr:write "tracing\n" end)
    at_exit(function() for k in n:pairs() do print(k[1], k[2]) end end)
  ' -- $program >"$D/out" 2>"$D/err" 7>&- </dev/null &
  uplua=$!
  until_traces
  printf x >&7
  until_said done
  exec 7>&-
  wait $uplua]])
like(by_process.out, "^family\t%d+\n$", "threads of a process")

-- Cgroups, where one can be made.
local cgroup = target.cgroup()
if cgroup then
  local inside = ([[
    R=%s A=%s B=%s
    in_cgroup() { mkdir -p "$R/$1"; sh -c 'echo $$ >"$0/cgroup.procs"; exec %s' "$R/$1" >/dev/null; }
    ]]):format(cgroup, A, B, SHOP)
  local script = os.tmpname()
  local file = assert(io.open(script, "w"))
  file:write(inside, [[
    in_cgroup system.slice/docker-$A.scope
    in_cgroup system.slice/docker-$A.scope/init.scope
    in_cgroup kubepods/burstable/podab/$A
    in_cgroup there/docker/$B
    in_cgroup there/docker/$B/below
    in_cgroup there/plain
    command -v rmdir >/dev/null || exit 0
    for one in system.slice/docker-$A.scope/init.scope system.slice/docker-$A.scope system.slice \
      kubepods/burstable/podab/$A kubepods/burstable/podab kubepods/burstable kubepods \
      there/docker/$B/below there/docker/$B there/docker there/plain there; do rmdir "$R/$one"; done
  ]])
  file:close()
  local name = cgroup:match "[^/]*$"
  local function counted(what)
    run = target.shell(([[%s mkdir -p "$R/there/docker/$B"
      ./uplua --follow --format csv funccount.lua --by %s %s -- sh %s >"$D/out" 2>"$D/err"]])
      :format(inside, what, DELIVER, script))
    is(run.err, "", "by " .. what)
    return run.out
  end
  is(counted "container", ([[
container,func,calls
docker-0c1d2e3f0c1d,deliver,426
docker-a1b2a1b2a1b2,deliver,426
/%s/there/plain,deliver,213
kubepods-a1b2a1b2a1b2,deliver,213
]]):format(name), "containers: those that were there, that came, and what they have below; and one without a name")
  is(counted "cgroup", (([[
cgroup,func,calls
R/kubepods/burstable/podab/A,deliver,213
R/system.slice/docker-A.scope,deliver,213
R/system.slice/docker-A.scope/init.scope,deliver,213
R/there/docker/B,deliver,213
R/there/docker/B/below,deliver,213
R/there/plain,deliver,213
]]):gsub("%u", { R = "/" .. name, A = A, B = B })), "cgroups, which are gone at the end")
  os.remove(script)
  target.shell("find " .. cgroup .. " -depth -type d -exec rmdir {} +")
end

for what, message in pairs {
  proces = "^funccount.lua: %-%-by: process, thread, cgroup, container, cpu or an expression of the event such as "
    .. "e.uid, not 'proces'; did you mean 'process'%? See %-%-help\n$",
  ["x + y"] = "^uplua: %-%-by 'x %+ y': there is no 'x' here",
  ["e.nope"] = "^uplua: %-%-by 'e.nope': the event of a uprobe has no field 'nope'",
} do
  run = target.uplua(("funccount.lua --by '%s' %s -- %s"):format(what, SELL, SHOP))
  like(run.err, message, "--by " .. what)
end
target.done()
tap.done_testing()
