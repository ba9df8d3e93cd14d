-- What a process without root's rights is told: which capability is missing, and what works with those that it has.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

-- Runs uplua as nobody with CAPABILITIES, "bpf,perfmon", from a folder that nobody may enter.
local function as_nobody(capabilities, arguments)
  local set = "-all"
  for name in capabilities:gmatch "[^,]+" do set = set .. ",+" .. name end
  return target.shell(([[
    chmod 755 "$D" && cp uplua build/examples/shop "$D/" && cd "$D" || exit 1
    setpriv --bounding-set=%s --inh-caps=%s --ambient-caps=%s --reuid 65534 --regid 65534 \
      --clear-groups ./uplua %s >out 2>err </dev/null
  ]]):format(set, set, set, arguments))
end

local COUNT = [[-e 'n = count() uprobe("./shop:sell", function(e) n[e.comm]:inc() end)
  at_exit(function() print(n.shop) end)' -- ./shop]]
local run = as_nobody("bpf,perfmon", COUNT)
if not target.has "uprobe_multi" then -- the kernel lets nobody else make perf events of uprobes
  like(run.err, "^uplua: uprobe cannot attach to sell in %S+: this needs CAP_SYS_ADMIN; run uplua as root\n$",
    "without uprobe_multi another one is needed")
  run = as_nobody("bpf,perfmon,sys_admin", COUNT)
end
is(run.err, "", "CAP_BPF and CAP_PERFMON are enough for functions, with uprobe_multi")
like(run.out, "\n101\n$", "of which none is missed")
for _, case in ipairs {
  { "perfmon", COUNT, "cannot load BPF programs: this process lacks CAP_BPF; run as root or with sudo\n$" },
  { "bpf", COUNT, "cannot load BPF programs: this process lacks CAP_PERFMON; run as root or with sudo\n$" },
  { "", COUNT, "cannot load BPF programs: this process lacks CAP_BPF and CAP_PERFMON; run as root or with sudo\n$" },
  { "", [[-e 'profile(99, function(e) end)']], "this process lacks CAP_BPF and CAP_PERFMON" },
  { "", [[-e 'c = counter "page-faults"']], "counter page%-faults: this needs CAP_%S+" },
  { "bpf,perfmon", [[-e 'tracepoint("sched:sched_switch", function(e) end)']],
    "tracepoint sched:sched_switch: the kernel's description of its tracepoints " ..
    "%(tracefs%) cannot be read: this needs root, or CAP_DAC_READ_SEARCH where it is mounted" },
  { "bpf,perfmon", [[-e 'syscall("read", function(e) end)']],
    "syscall read: syscalls:sys_enter_read: the kernel's description .* this needs root" },
} do
  run = as_nobody(case[1], case[2])
  is(run.status, 1, ("with %s: %s"):format(case[1] ~= "" and case[1] or "nothing", case[2]))
  like(run.err, case[3], case[3])
end
-- What is mapped of a file that was replaced is reached through /proc/PID/map_files, which is for root alone: what now
-- has its name is not probed in its place.
local set = "-all,+bpf,+perfmon"
run = target.shell(([[
  set -m
  mkdir "$D/a"
  trap 'rm -rf "$D/a"' EXIT
  cp uplua build/targets/plugin build/targets/libplugin.so "$D/a/"
  cp build/targets/libplugin.so "$D/a/other.so"
  chmod 755 "$D" && chown -R 65534:65534 "$D/a"
  mkfifo "$D/in" && chown 65534:65534 "$D/in"
  cd "$D/a" || exit 96
  setpriv --reuid 65534 --regid 65534 --clear-groups ./plugin ./libplugin.so <"$D/in" >"$D/target" & program=$!
  exec 7>"$D/in"
  until_said ready
  printf x >&7
  until_said loaded
  mv other.so libplugin.so
  for spec in libplugin:plugged "$D/a/libplugin.so:plugged" ./libplugin.so:plugged; do
    setpriv --bounding-set=%s --inh-caps=%s --ambient-caps=%s --reuid 65534 --regid 65534 --clear-groups ./uplua -e \
      "uprobe('$spec', function(e) end)" -- $program
    echo "$program $?" >>"$D/out"
  done 2>>"$D/err" </dev/null
  exec 7>&-
  wait]]):format(set, set, set))
local pid, wanted = run.out:match "^(%d+) 1\n%1 1\n%1 1\n$", ""
for _, spec in ipairs { "libplugin", "/libplugin.so", "./libplugin.so" } do
  wanted = wanted .. ("uplua: -e:1: uprobe %s:plugged: process %s has mapped /libplugin.so, " ..
                      "which was deleted or replaced since: to reach the file that it has needs " ..
                      "CAP_SYS_ADMIN; run uplua as root\n  -e:1: in the main chunk\n"):format(spec, tostring(pid))
end
is((run.err:gsub("/tmp/[^/]*/a/", "/")), wanted,
  "a library that was replaced since it was loaded: by its name, and by its path")

target.done()
tap.done_testing()
