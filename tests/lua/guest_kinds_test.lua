-- Programs of BPF objects of each kind that the kernel itself triggers: every hit of those who are traced, and what is
-- said of the others.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local OBJECT, PROGRAM, TIMES = "build/objects/kinds.bpf.o", "build/targets/probe_kinds", 101
local SUM = TIMES * (TIMES + 1) / 2

local path = target.folder() .. "-guest-kinds.lua"
local file = assert(io.open(path, "w"))
file:write [[
local up = require "uplua"
local tool = up.bpf_object "build/objects/kinds.bpf.o"
tool.rodata.name = arg[1]
tool.rodata.only = tonumber(arg[2])
for i = 3, #arg do
  if arg[i] == "on_fault" then tool:attach("on_fault", "page-faults", { period = 1 }) else tool:attach(arg[i]) end
end
up.after(0, function() io.stderr:write "tracing\n" end)
up.at_exit(function()
  for i = 0, 10 do
    if tool.maps.hits[i] > 0 then print("seen", i, tool.maps.hits[i], tool.maps.sums[i]) end
  end
end)
]]
file:close()

-- Each program, its number, and the sum of what it was told of the hits of one thread.
local PROGRAMS = {
  { "on_call", 0, SUM }, { "on_raw_signal", 1, 23 * TIMES }, { "on_signal", 2, 23 * TIMES }, { "on_fault", 3, TIMES },
  { "on_seek", 4, SUM, kernel = true }, { "on_sought", 5, TIMES, kernel = true }, { "on_seeks", 6, SUM, kernel = true },
  { "on_entry", 7, SUM, kernel = true },
  { "on_exit", 8, SUM, kernel = true }, { "on_ksyscall", 9, SUM, kernel = true },
  { "on_kretsyscall", 10, TIMES, kernel = true },
}
local kprobes = io.open "/sys/bus/event_source/devices/kprobe/type"
local here, names = {}, {}
for _, program in ipairs(PROGRAMS) do
  if kprobes or not program.kernel then
    here[#here + 1] = program
    names[#names + 1] = program[1]
  end
end

-- uplua OPTIONS with all programs, for the process $program or all of that name ("0"), while it and its child do their
-- deeds.
local function run(options, only, wanted)
  return target.shell(([[
    set -m
    mkfifo "$D/in"
    NAME=$(printf 'g%%07d' $(($$ %% 10000000)))
    %s $NAME wait <"$D/in" >"$D/target" & program=$!
    exec 7>"$D/in"
    until_said ready
    threads=($(ls /proc/$program/task | sort -n))
    ./uplua %s >"$D/out" 2>"$D/err" 7>&- </dev/null & uplua=$!
    until_traces
    printf x >&7
    until_said done
    kill -INT $uplua
    wait $uplua
    status=$?
    exec 7>&-
    wait
    exit $status]]):format(PROGRAM, (options:gsub("SCRIPT",
      function() return ("%s $NAME %s %s"):format(path, only, table.concat(wanted or names, " ")) end))))
end

local function check(r, threads, what)
  is(r.status, 0, what .. ": the run")
  for _, program in ipairs(here) do
    is(r.out:match(("seen\t%d\t([^\n]*)"):format(program[2])),
       ("%d\t%d"):format(threads[program[1]] and threads[program[1]] * TIMES or threads[1] * TIMES,
         (threads[program[1]] or threads[1]) * program[3]), what .. ": " .. program[1])
  end
end

-- What is said of PROGRAM, once.
local function told(r, program, why)
  local count = 0
  for line in r.err:gmatch "[^\n]+" do
    if line == ("uplua: object %s: program %s: it is also hit by processes and threads that are not traced: %s"):format(
      OBJECT, program, why) then count = count + 1 end
  end
  return count
end

-- On a machine that is emulated each run of all programs takes minutes: one tells whether its kernel runs them.
local few = tap.fewer(false, true)
if not few then
  local r = run("SCRIPT", 0)
  check(r, { 8 }, "the whole machine")
  is(r.err, "tracing\n", "… of which nothing is kept back")
  check(run("SCRIPT -- $program", "$program"), { 4 }, "programs that ask for their process themselves")
end

local r = run("SCRIPT -- $program", 0)
check(r, { 8, on_fault = 4 }, "a process: others hit all but the events of its threads")
local EVERYBODY =
  "the kernel runs it for any process; it can ask for the process itself (bpf_get_current_pid_tgid)"
local count = 0
for _, name in ipairs(names) do
  is(told(r, name, EVERYBODY), name == "on_fault" and 0 or 1, "… which is said of " .. name)
  count = count + (name == "on_fault" and 0 or 1)
end
is(select(2, r.err:gsub("\n", "")), count + 1, "… and nothing else")

-- the first one lives until all is done
r = not few and run("--tid ${threads[0]},${threads[2]},${threads[4]} SCRIPT", 0)
if r then check(r, { 8, on_fault = 2 }, "threads: others hit all but their events") end
local NOTHING = "--follow, --tid, --comm and --cgroup mean nothing to it"
for _, name in ipairs(r and names or {}) do
  is(told(r, name, NOTHING), name == "on_fault" and 0 or 1, "… which is said of " .. name)
end

r = not few and run("--follow SCRIPT -- $program", 0)
if r then check(r, { 8 }, "--follow") end
for _, name in ipairs(r and names or {}) do
  is(told(r, name, NOTHING), 1, "… of which is said what it means to " .. name)
end

local cgroup = not few and target.cgroup()
if cgroup then os.execute("rmdir " .. cgroup) end
for _, option in ipairs(few and {} or { "--comm $NAME-1", cgroup and "--cgroup " .. cgroup }) do
  r = run(option .. " SCRIPT -- $program", 0, { "on_call", "on_fault" })
  is(told(r, "on_call", NOTHING) + told(r, "on_fault", NOTHING), 2, option:match "%S+" .. ": what is said")
end

local function refused(options, code, want, what)
  like(target.uplua(("%s -e 'local tool = bpf_object %q %s' -- true"):format(options, OBJECT, code)).err, want, what)
end
refused("--cpu 0", 'tool:attach "on_call"', "^uplua: %-e:1: object %S+: program on_call: %-%-cpu is for probes that " ..
                                            "sample and count: of an object, its perf_event programs\n", "--cpu")
if not kprobes then
  for name, kind in pairs { on_seek = "kprobe ksys_lseek", on_seeks = "kprobe ksys_lsee%[k%]",
                            on_sought = "kretprobe ksys_lseek", on_entry = "fentry ksys_lseek",
                              on_exit = "fexit ksys_lseek", on_ksyscall = "kprobe __%w+_sys_lseek",
                              on_kretsyscall = "kretprobe __%w+_sys_lseek" } do
    refused("", ("tool:attach %q"):format(name), "^uplua: %-e:1: object %S+: program " .. name .. ", " .. kind ..
      ": this kernel[^\n]*; it has tracepoints: up.tracepoint", "without kprobes: " .. name)
  end
end
os.remove(path)
target.done()
tap.done_testing()
