-- --cpu: every kind of probe runs its handler on these CPUs only; a call that is entered on one and returns on another
-- belongs to that on which it returns.
local tap    = require "tap"
local target = require "target"

-- By a name of its own: probes with { all = true } see the programs of other tests, too.
local pipe = io.popen "mktemp -d"
local FOLDER = pipe:read "*l"
pipe:close()
local NAME = "m" .. FOLDER:match "%w+$":sub(-12)
local PROGRAM, MAY_NOT = FOLDER .. "/" .. NAME, 77 -- what it says where it may not run on both
target.shell("cp build/targets/migrates " .. PROGRAM)
if target.shell(PROGRAM .. " >/dev/null").status == MAY_NOT then
  tap.skip "there is no second CPU here, or it may not be used"
  os.execute("rm -r " .. FOLDER)
  return tap.done_testing()
end

local pmu = io.open "/sys/bus/event_source/devices/kprobe/type"
local KPROBES = pmu ~= nil
if pmu then pmu:close() end

-- How often handlers run at the program's 48 moves, of which 24 lead to each CPU. It goes to CPU 0 first, which is a
-- call of the kernel, too, from wherever it is: there one more may be counted.
local CODE = [[n = count()
  local function add(what)
    return function(e) if e.comm == "NAME" then n[{ what, e.cpu }]:inc() end end
  end
  uprobe("PROGRAM:move", add "entry")
  uretprobe("PROGRAM:move", add "return")
  uretprobe("PROGRAM:move", function(e)
    if e.elapsed > 0 then n[{ e.arg0 == 1 and "to 1" or "to 0", e.cpu }]:inc() end
  end)
  usdt("PROGRAM:migrates:moved", add "usdt")
  if WATCHES then watch("PROGRAM:moves", "w", add "watch") end
  syscall("sched_setaffinity", add "call")
  sysreturn("sched_setaffinity", add "call's return")
  tracepoint("syscalls:sys_enter_sched_setaffinity", add "tracepoint")
  tracepoint("syscalls:sys_enter_sched_setaffinity", { all = true }, add "tracepoint, all")
  if KPROBES then
    kprobe("sched_setaffinity", add "kprobe")
    kprobe("sched_setaffinit[y]", add "kprobe of a pattern")
    kretprobe("sched_setaffinity", add "kretprobe")
    fentry("sched_setaffinity", add "fentry")
    fexit("sched_setaffinity", add "fexit")
  end
  raw_tracepoint("sys_enter", function(e)
    if e.args.id == NUMBER and e.comm == "NAME" then n[{ "raw_tracepoint", e.cpu }]:inc() end
  end)
  raw_tracepoint("sys_enter", { all = true }, function(e)
    if e.args.id == NUMBER and e.comm == "NAME" then n[{ "raw_tracepoint, all", e.cpu }]:inc() end
  end)
  raw_tracepoint("sys_enter", { every_cpu = true }, function(e)
    if e.args.id == NUMBER and e.comm == "NAME" then n[{ "raw_tracepoint, every CPU", e.cpu }]:inc() end
  end)
  at_exit(function() for k, v in n:pairs() do print(k[1], k[2], v) end end)]]
local WATCHES = target.watches()
CODE = CODE:gsub("KPROBES", tostring(KPROBES)):gsub("WATCHES", tostring(WATCHES))
  :gsub('"PROGRAM:', '"' .. PROGRAM .. ":")
  :gsub('"NAME"', '"' .. NAME .. '"')
  :gsub("NUMBER", jit.arch == "x64" and "203" or "122") -- sched_setaffinity's

local ON_RETURN = { "return", "usdt", "call's return" }
if WATCHES then ON_RETURN[#ON_RETURN + 1] = "watch" end
local AT_ENTRY = { "entry", "call", "tracepoint", "tracepoint, all", "raw_tracepoint", "raw_tracepoint, all" }
if KPROBES then
  for _, kind in ipairs { "kretprobe", "fexit" } do ON_RETURN[#ON_RETURN + 1] = kind end
  for _, kind in ipairs { "kprobe", "kprobe of a pattern", "fentry" } do AT_ENTRY[#AT_ENTRY + 1] = kind end
end
local FIRST_TOO = {} -- kinds that see how it goes to CPU 0 first
for _, list in ipairs { ON_RETURN, AT_ENTRY } do
  for _, kind in ipairs(list) do FIRST_TOO[kind] = true end
end
for _, kind in ipairs { "entry", "return", "usdt", "watch" } do FIRST_TOO[kind] = false end

local MOVES = 24

-- Checks the hits of each kind with --cpu LIST, which has the CPUs of TRACED.
local function check(list, traced)
  local run = target.uplua(("--cpu %s -e %s -- %s"):format(list, target.quote(CODE), PROGRAM))
  local what = "--cpu " .. list
  tap.is(run.err, "", what .. ": nothing is lost")
  local got = {}
  for kind, cpu, number in run.out:gmatch "([^\t\n]+)\t(%d)\t(%d+)" do got[kind .. " on " .. cpu] = tonumber(number) end
  local function expect(kind, wanted, returns)
    for cpu = 0, 1 do
      local number, least = got[("%s on %d"):format(kind, cpu)] or 0, wanted[cpu] and MOVES or 0
      local more = wanted[cpu] and FIRST_TOO[kind] and (not returns or cpu == 0) and 1 or 0
      if not (returns and more == 1) then
        tap.ok(number >= least and number <= least + more, ("%s: %s on CPU %d: %d"):format(what, kind, cpu, number))
      else
        tap.is(number, least + 1, ("%s: %s on CPU %d"):format(what, kind, cpu))
      end
    end
  end
  for _, kind in ipairs(ON_RETURN) do expect(kind, traced, true) end
  for _, kind in ipairs(AT_ENTRY) do expect(kind, traced, false) end
  for cpu = 0, 1 do
    local number, other = got[("to %d on %d"):format(cpu, cpu)] or 0, got[("to %d on %d"):format(cpu, 1 - cpu)]
    tap.is(number, traced[cpu] and MOVES or 0, ("%s: returns by the entry's argument, on CPU %d"):format(what, cpu))
    tap.is(other, nil, what .. ": … and on no other")
  end
  tap.is((got["raw_tracepoint, every CPU on 0"] or 0) + (got["raw_tracepoint, every CPU on 1"] or 0), 2 * MOVES + 1,
    what .. ": every_cpu sees all")
end

check("0", { [0] = true })
check("1", { [1] = true })
if not tap.fewer(false, true) then check("1,0,1", { [0] = true, [1] = true }) end

-- What threads are waited for on one CPU: the program leaves CPU 0 for CPU 1 and comes back.
local run = target.uplua("--cpu 1 --format json runqlat.lua -b cpu -- " .. PROGRAM)
tap.is(run.err, "", "runqlat.lua --cpu 1: nothing is lost")
tap.like(run.out, '"cpu":1,', "… it has what waited for CPU 1")
tap.is(run.out:match '"cpu":0,', nil, "… and nothing else")

run = target.uplua("--cpu 0 taskstate.lua -- true")
tap.like(run.status .. run.err, "^2taskstate.lua: %-%-cpu: a thread is in its states on whatever CPU",
  "a script that follows threads refuses it")
run = target.uplua("--cpu 0 mallocleak.lua -- true")
tap.like(run.status .. run.err, "^1uplua: .*without %-%-cpu", "so does what follows blocks")
run = target.uplua([[--cpu 0 -e 'print(target().cpus[1], #target().cpus)' -- true]])
tap.is(run.out, "0\t1\n", "scripts can ask for it")

os.execute("rm -r " .. FOLDER)
target.done()
tap.done_testing()
