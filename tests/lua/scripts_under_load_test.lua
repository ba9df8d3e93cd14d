-- Every script runs to its end on a machine that works: on a command, on a process and machine-wide; with nothing to
-- complain about, or with a ledger of what it did not see. With UPLUA_LONG in the environment the machine works for
-- redis-benchmark, redis-server and a build, and there is a round on the idle machine before; otherwise for one program
-- that is started again and again, machine-wide only, for some of the scripts.
local ffi    = require "ffi"
local tap    = require "tap"
local target = require "target"
ffi.cdef "int getpid(void);"
local is, ok = tap.is, tap.ok

local LONG = os.getenv "UPLUA_LONG"

-- Each script with its arguments; what it prints whatever happens; and on a process that reads and writes all the time,
-- in a second or two.
local SCRIPTS = {
  { "funccount", "libc:read libc:write", "Function +Calls\n", "\nwrite +%d" },
  { "stackcount", "libc:write", " hits? in [%d,]+ stacks?", "write%+0x" },
  { "argdist", "libc:write -k e.arg2", "e.arg2 +Hits\n", "\n%d+ +%d" },
  { "funclatency", "libc:write", "Function +Calls +p50", "\nwrite +%d" },
  { "funcslower", "--min 0 libc:write", "Time +Process +TID +Took +Call\n", "write%(" },
  { "syscalls", "--errors", "System call +Calls +", "\nwrite +%d" },
  { "systrace", "", "", "  write%(%d+, \"" },
  { "stat", "-i 0.5 syscall:write perf:page-faults", "Time +write +page%-faults\n.*\nSum +", "\n%S+ +[1-9][%d,]* +%d" },
  { "top", "-i 0.5 syscall:write", " hits of ", "redis%-server +%d+ +%d" },
  { "profile", "", "%d samples?", "[1-9][%d,]* samples in [1-9]" },
  { "offcputime", "", " off the CPU in [%d,]+ stacks?", " off the CPU in [1-9]" },
  { "runqlat", "-p", "Process +PID +Times +p50", "redis%-server +%d+ +%d" },
  { "execsnoop", "-x", "Time +Process +PID +Parent +Command\n" },
  { "opensnoop", "", "Time +Process +PID +Descriptor +Took +Path\n" },
  { "trace", "-S syscall:write", "Time +Process +TID +Event\n", "  write%(fd=%d+, " },
  { "usdt", "count ./build/examples/shop:'*'", "Probe +Hits\n" },
  { "mallocleak", "0.5 2", "mallocleak: ", "redis%-server" },
}

-- What uplua may say: at the end how much it did not see, and before what is to be known of jemalloc, which
-- redis-server uses: it throws exceptions. Not more.
local function is_honest(text)
  local rest = ("\n" .. text):gsub("\nmallocleak: tracing [^\n]*",
    ""):gsub("\nmallocleak: [^\n]* std::bad_alloc [^\n]*", "")
  rest = rest:gsub("^\n", "")
  rest = rest:gsub("uplua: not everything was seen:\n", ""):gsub("  [%d,]+ × [^\n]*\n", "")
  return rest == "" or rest
end

-- Runs the script of ROW with uplua's OPTIONS on WHOM; WHAT names it.
local function run(row, options, whom, what, wanted)
  local name, arguments = row[1], row[2]
  local result = target.uplua(("%s scripts/%s.lua %s %s"):format(options, name, arguments, whom))
  is(result.status, 0, ("%s, %s: ends well"):format(name, what))
  is(is_honest(result.err), true, "with an honest ledger")
  ok(result.out:find(row[3]) and (not wanted or not row[4] or result.out:find(row[4])), "and a report")
  if not result.out:find(row[3]) or wanted and row[4] and not result.out:find(row[4]) then
    io.stderr:write("#   ", (result.out:sub(1, 2000):gsub("\n", "\n#   ")), "\n")
  end
end

local pipe = io.popen "mktemp -d"
local folder = pipe:read "*l"
pipe:close()

-- Starts SCRIPT, in which $D is a folder and $P this process, which it should not outlive, in the background; returns
-- the PID of its group.
local function start(script)
  local reader =
    io.popen(("export D=%s P=%d; setsid sh -c %s >/dev/null 2>&1 </dev/null & echo $!"):format(folder, ffi.C.getpid(),
    target.quote(script)))
  local pid = reader:read "*n"
  reader:close()
  return pid
end

local function finish(group) os.execute(("kill -TERM -%d 2>/dev/null"):format(group)) end

-- Those without stacks: the code of whatever runs on this machine would have to be read for these.
local SHORT = { syscalls = true, systrace = true, runqlat = true, execsnoop = true, usdt = true }

if not LONG then
  local load = start "while kill -0 $P; do ./build/examples/shop; done"
  for _, row in ipairs(SCRIPTS) do
    if SHORT[row[1]] then run(row, "--duration 0.2", "", "machine-wide") end
  end
  finish(load)
else
  assert(os.execute "command -v redis-server redis-benchmark redis-cli >/dev/null" == 0,
    "this needs Debian's packages redis-server and redis-tools")
  local server = start 'exec redis-server --port 0 --unixsocket "$D/socket" --save ""'
  local redis = ("redis-cli -s %s/socket"):format(folder)
  target.await("the server's answer", function()
    return os.execute(redis .. " ping 2>/dev/null | grep -q PONG") == 0
  end)
  local benchmark = ("redis-benchmark -s %s/socket -q -c 5 -t set,get,lpush"):format(folder)
  local loads = {}
  for _, state in ipairs { "idle", "loaded" } do
    if state == "loaded" then
      loads[1] = start(("while kill -0 $P; do %s; done"):format(benchmark))
      loads[2] = start('mkdir -p "$D/tree"; while kill -0 $P; do for i in 1 2 3 4; do ' ..
                       'echo "int f$i;" >"$D/tree/$i.c"; cc -O2 -c -o "$D/tree/$i.o" "$D/tree/$i.c"; done; done')
    end
    for _, row in ipairs(SCRIPTS) do
      run(row, "", ("-- %s -n 2003"):format(benchmark), state .. ", a command")
      if row[1] ~= "usdt" then run(row, "--duration 2s", "-- " .. server, state .. ", a process", state == "loaded") end
      if row[1] ~= "mallocleak" then run(row, "--duration 1s", "", state .. ", machine-wide") end
    end
  end
  is(os.execute(redis .. " ping | grep -q PONG"), 0, "redis-server goes on")
  for _, group in ipairs(loads) do finish(group) end
  finish(server)
end
os.execute("rm -rf " .. folder)
target.done()
tap.done_testing()
