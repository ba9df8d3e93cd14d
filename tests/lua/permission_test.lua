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
    setpriv --bounding-set=%s --inh-caps=%s --ambient-caps=%s --reuid 65534 --regid 65534 --clear-groups ./uplua %s >out 2>err </dev/null
  ]]):format(set, set, set, arguments))
end

local COUNT = [[-e 'n = count() uprobe("./shop:sell", function(e) n[e.comm]:inc() end) at_exit(function() print(n.shop) end)' -- ./shop]]
local older = (os.getenv "UPLUA_WITHOUT" or ""):find "uprobe_multi" ~= nil
local run = as_nobody("bpf,perfmon", COUNT)
if older then -- the kernel lets nobody else make perf events of uprobes
  like(run.err, "^uplua: uprobe cannot attach to sell in %S+: this needs CAP_SYS_ADMIN; run uplua as root\n$", "without uprobe_multi another one is needed")
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
    "tracepoint sched:sched_switch: the kernel's description of its tracepoints %(tracefs%) cannot be read: this needs root" },
  { "bpf,perfmon", [[-e 'syscall("read", function(e) end)']], "syscall read: syscalls:sys_enter_read: the kernel's description .* this needs root" },
} do
  run = as_nobody(case[1], case[2])
  is(run.status, 1, ("with %s: %s"):format(case[1] ~= "" and case[1] or "nothing", case[2]))
  like(run.err, case[3], case[3])
end
target.done()
tap.done_testing()
