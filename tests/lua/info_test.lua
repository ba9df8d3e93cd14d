-- uplua --info: what was found by trying is what probes are set with, and what is switched off is said to be.
local core = require "uplua.core"
local tap = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

-- --info with ENVIRONMENT: status and message by feature, way by kind of probe.
local function info(environment)
  local run =
    target.shell(('unset UPLUA_WITHOUT UPLUA_WITH; %s ./uplua --info >"$D/out" 2>"$D/err"'):format(environment))
  local features, ways = {}, {}
  local above, below = run.out:match "\nwhat the kernel has\n(.*)\n\nhow probes are set\n(.*)$"
  for state, name, text in (above .. "\n"):gmatch "  (%S+) +(%S+) +([^\n]*)\n" do
    features[name] = { state = state, text = text }
  end
  for name, way in below:gmatch "  (%S+) +([^\n]*)\n" do ways[name] = way end
  return { out = run.out, err = run.err, status = run.status, features = features, ways = ways }
end

local here = info ""
is(here.status .. here.err, "0", "it works")
like(here.out, "^uplua [%d.]+ on Linux %d+%.%d+", "the kernel's release")
for _, feature in ipairs(core.system.features()) do
  local said = here.features[feature.name] or {}
  ok(said.state == "yes" or said.state == "no", feature.name .. " is decided: " .. tostring(said.state))
  if said.state == "no" then like(said.text, ": .+", "  … and why not") end
end
local kinds = 0
for _, kind in ipairs(require "uplua.run.info".kinds()) do
  kinds = kinds + 1
  ok(kind.known and here.ways[kind.name], kind.name .. ": its ways are known: " .. tostring(here.ways[kind.name]))
end
ok(kinds >= 5, "all kinds of probes")

-- What it says is what happens.
local multi = here.features.uprobe_multi.state == "yes"
like(here.ways.uprobe, multi and "^one link for all places in a file$"
  or "^a perf event for each place %(no uprobe_multi: ", "uprobes")
local run = target.uplua [[-e 'n = count() kprobe("vfs_read", function(e) n:inc() end)' -- true]]
if here.features.kprobe.state == "yes" then
  is(run.status, 0, "kprobes can be set")
else
  like(run.err, "this kernel has no kprobes", "kprobes cannot be set")
  like(here.ways.kprobe, "^not here: ", "  … and are said not to be there")
end
local kernels = { -- of tests/vm
  ["6.1"] = { uprobe_multi = "no", session = "no", may_goto = "no", kprobe_multi = "no" },
  ["6.12"] = { uprobe_multi = "yes", session = "no", may_goto = "yes", kprobe_multi = "yes" },
}
local release = os.getenv "UPLUA_KERNEL"
if release then
  local want = { private_stack = "no", uprobe = "yes", sleepable = "yes", kprobe = "yes", trampoline = "yes",
    btf = "yes", cpu_clock = "yes" }
  for name, state in pairs(kernels[release]) do want[name] = state end
  if jit.arch == "arm64" and release == "6.1" then want.trampoline = "no" end -- direct calls of ftrace came with 6.4
  for name, state in pairs(want) do
    is(here.features[name].state, state, ("Linux %s as Debian builds it: %s"):format(release, name))
  end
end

local without = info "UPLUA_WITHOUT=uprobe_multi,session"
is(without.features.uprobe_multi.state, "no", "what is switched off is not there")
like(without.features.uprobe_multi.text, ": UPLUA_WITHOUT says so$", "  … for that reason")
is(without.ways.uprobe, "a perf event for each place (no uprobe_multi: UPLUA_WITHOUT says so)", "another way is taken")
like(without.ways.uretprobe, "^a perf event for each entry and each return, which pair in each thread %(no session",
  "at returns too")
is(info "UPLUA_WITH=all".features.session.state, "yes", "what is said to be there is not tried")
like(info "UPLUA_WITHOUT=uprobes".err, "UPLUA_WITHOUT names an unknown feature 'uprobes'; known are all, uprobe_multi,",
  "a feature that there is not")

local user = target.shell([[
  command -v setpriv >/dev/null && [ "$(id -u)" = 0 ] || exit 77
  chmod 755 "$D"; cp uplua "$D"
  cd "$D" && unset UPLUA_WITHOUT && setpriv --reuid 65534 --regid 65534 --clear-groups ./uplua --info >out 2>err
]])
if user.status ~= 77 then
  is(user.status .. user.err, "0", "it needs no privilege")
  like(user.out, "\nthis process lacks CAP_BPF and CAP_PERFMON, without which no handler can be loaded\n",
    "says which would be needed")
  like(user.out, "\n  %?    may_goto [^\n]*: not tried without CAP_BPF and CAP_PERFMON\n", "what it could not try")
  like(user.out, "\n  yes  btf ", "and finds what it may")
  like(user.out, "\n  uprobe +not known: uprobe_multi could not be tried", "does not say more than it knows")
end
target.done()
tap.done_testing()
