-- What is in contrib/: the unit is one that systemd takes, the DaemonSet one that Kubernetes does, and both give the
-- capabilities that a service keeps.
local tap    = require "tap"
local target = require "target"
local is, ok = tap.is, tap.ok

local unit, set = target.read "contrib/uplua@.service", target.read "contrib/daemonset.yaml"

local kept = {}
for name in target.read "lua/uplua/service/rights.lua":match "KEPT = (%b{})":gmatch '"CAP_([%w_]+)"' do
  kept[#kept + 1] = name
end
ok(#kept >= 6, "a service keeps capabilities")
local caps = "CAP_" .. table.concat(kept, " CAP_")
is(unit:match "\nAmbientCapabilities=([^\n]*)", caps, "the unit gives these")
is(unit:match "\nCapabilityBoundingSet=([^\n]*)", caps, "… and no others")
is(set:match "\n +add: (%b[])", '["' .. table.concat(kept, '", "') .. '"]', "so does the DaemonSet")
local page = target.read "doc/service.md"
for _, name in ipairs(kept) do
  ok(page:find("| `CAP_" .. name .. "` |", 1, true), "the manual says what for: " .. name)
end

if tap.has("systemd-analyze", "systemd") then
  local run = target.shell [[
    sed "s|/usr/bin/uplua|$PWD/uplua|" contrib/uplua@.service >"$D/uplua@x.service"
    systemd-analyze verify --man=no "$D/uplua@x.service"
    echo "status $?"
  ]]
  is(run.noise, "status 0\n", "systemd takes the unit")
end

-- kubectl drops what its types do not have.
if tap.has("kubectl", "kubernetes-client") and tap.has("python3") then
  local run = target.shell [[
    python3 -c 'import yaml' 2>/dev/null || { echo "no yaml"; exit; }
    kubectl set env --local -f contrib/daemonset.yaml -o json ADDED=1 >"$D/json" || exit
    python3 -c '
import json, sys, yaml
def missing(want, got, path):
    if isinstance(want, dict):
        return [m for k, v in want.items()
                for m in (missing(v, got[k], path + "." + k) if k in got else [path + "." + k])]
    if isinstance(want, list):
        return [m for i, v in enumerate(want) for m in missing(v, got[i], path + "[%d]" % i)]
    return [] if want == got else [path + " = %r" % got]
print("missing:", missing(yaml.safe_load(open("contrib/daemonset.yaml")), json.load(open(sys.argv[1])), ""))
' "$D/json"
  ]]
  if run.noise == "no yaml\n" then
    tap.skip "there is no yaml of python here (package python3-yaml)"
  else
    is(run.noise, "missing: []\n", "Kubernetes knows all of the DaemonSet")
  end
end
target.done()
tap.done_testing()
