-- --budget: a probe that takes too much is off for a while, which is told everywhere; what takes little stays.
local service = require "service"
local tap     = require "tap"
local target  = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local function file(name) return target.read(target.folder() .. "/" .. name) end

-- The numbers of hundreds of calls that flood prints for each quarter of a second.
local function quarters(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do list[#list + 1] = tonumber(line) end
  return list
end

local PROBES = [[
local up = require "uplua"
local spins, rares = up.count(), up.count()
up.uprobe("./build/targets/flood:spin", function() spins:inc() end)
up.uprobe("./build/targets/flood:rare", function() rares:inc() end)
up.metric("spins", spins)
up.at_exit(function() print("rares", rares:get(), "spins", spins:get() > 0) end)
]]
local FLOOD = "-- ./build/targets/flood 6"
local free = quarters(target.shell "./build/targets/flood 1 >\"$D/out\"".out)
local run = target.script(PROBES, FLOOD, "--budget 10%")
is(run.status, 0, "a budget")
local told, lost = run.err:match "^uplua: ([^\n]*)\nuplua: not everything was seen:\n  ([^\n]*)\n$"
like(told, "^uprobe %./build/targets/flood:spin is off for 10%.0 s: it takes %d+ %% of a CPU, and %-%-budget is 10 %%$",
  "a probe that takes more is off")
like(lost, "^1 × uprobe %./build/targets/flood:spin: off for %d%.%d s in all to keep to the budget: its hits were ",
  "… which the ledger has")
local rares = tonumber(run.out:match "rares\t(%d+)")
local bound = quarters(run.out)
is(rares, #bound, "the other probe sees all of its hits")
like(run.out, "spins\ttrue", "… and the first one some")
local slow, quick = bound[1] or 0, bound[#bound] or 0
ok(slow < quick / 5, "the program runs again as it did", slow .. ", then " .. quick .. ", " .. tostring(free[#free]) ..
  " without probes")
local off = 0
for i, n in ipairs(bound) do
  if n < quick / 5 then off = i end
end
ok(off <= 9, "… within 2 seconds", off / 4)

-- What takes no more than it may stays on.
run = target.script(PROBES, "-- ./build/targets/flood 2", "--budget 1000%")
is(run.err, "", "what is within the budget stays")

-- As metrics, and the probe comes back.
if pcall(require("ffi").load, "libmicrohttpd.so.12") then
  run = target.shell(service.SHELL .. ([[
    cat >"$D/x.lua" <<'END'
%s
END
    ./uplua --serve 0 --budget 10 "$D/x.lua" -- ./build/targets/flood 12 >"$D/out" 2>"$D/err" &
    uplua=$!
    serving $uplua
    await 'grep -q "is off for" "$D/err"' $uplua
    ask /metrics >"$D/metrics"
    await 'grep -q "is on again" "$D/err"' $uplua
    wait $uplua
  ]]):format(PROBES))
  local text = file "metrics"
  like(text, "\nuplua_budget_cpus 0.1\n", "the budget is a metric")
  like(text, "\nuplua_cost_cpus [%d.e-]+\n", "… and what the probes take")
  like(text, '\nuplua_probe_off_seconds_total{probe="uprobe [^"]*:spin"} [%d.e-]+\n', "… and for how long one was off")
  like(text, '\nuplua_lost_total{cause="uprobe [^"]*:spin: off to keep to the budget: its hits were not seen"} 1\n',
    "… and that its hits are lost")
  like(run.err, "\nuplua: uprobe [^\n]*:spin is on again\n", "it comes back")
else
  tap.skip "no libmicrohttpd here"
end

-- What is wrong.
local function refused(options, want)
  like(target.uplua(options .. " -e 'print(1)'").err, "^uplua: " .. want, options)
end
refused("--budget 0", "%-%-budget is a share of one CPU above 0, as in %-%-budget 1%%; got '0'\n")
refused("--budget lots", "%-%-budget is a share of one CPU above 0, as in %-%-budget 1%%; got 'lots'\n")
refused("-i --budget 1", "%-%-budget is for a script that runs; it does not go with %-i\n")
target.done()
tap.done_testing()
