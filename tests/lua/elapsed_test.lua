-- e.elapsed is the time that the function took, without what its probes take: compared with what the function's own
-- looks at the clock say, where the kernel emulates its first instruction and where it steps it. By how much they may
-- differ follows from what the probes take in the same run: less than half of it, so that too much or too little taken
-- off is seen.
local tap = require "tap"
local target = require "target"

local ATTEMPTS = 4 -- on a busy machine a stepped instruction takes 9 us now and 14 us a moment later

local CODE = [[
local up, core = require "uplua", require "uplua.core"
local calls, took, own, first = up.ring {}, {}, {}, nil
up.uretprobe("./build/targets/spinner:%s", %s function(e) calls:emit { ns = e.arg0, took = e.elapsed, own = e.ret } end)
local other = up.max()
%s
calls:each(function(call)
  local ns = tonumber(call.ns)
  took[ns], own[ns] = took[ns] or {}, own[ns] or {}
  table.insert(took[ns], tonumber(call.took))
  table.insert(own[ns], tonumber(call.own))
end)
local function cost() return select(2, up.probe_cost())[1] end
up.after(0, function() first = cost().ns end)
up.at_stop(function()
  core.cost.again()
  print("cost", first, cost().ns, cost().entry, (up.probe_cost()))
end)
local function percentile(list, p)
  table.sort(list)
  return list[math.ceil(#list * p / 100)]
end
up.at_exit(function()
  for ns, list in pairs(took) do
    print("took", ns, #list, percentile(list, 50), percentile(own[ns], 50))
  end
end)
]]

-- One run of the target with a probe on FUNCTION, and OTHERS: what differs, "" if nothing, and what the script was
-- told.
local function attempt(fn, options, others)
  local path = target.folder() .. "-elapsed.lua"
  local file = assert(io.open(path, "w"))
  file:write(CODE:format(fn, options, others or ""))
  file:close()
  local r = target.shell(('./uplua %s -- ./build/targets/spinner >"$D/out" 2>"$D/err"'):format(path))
  os.remove(path)
  local first, last, entry, text = r.out:match "cost\t(%d+)\t(%d+)\t(%w+)\t([^\n]+)"
  if not first then return r.out .. r.err end
  local wrong, durations = {}, 0
  local look = tonumber(r.out:match "took\t0\t%d+\t%d+\t(%d+)") or 0
  for ns, count, took, own in r.out:gmatch "took\t(%d+)\t(%d+)\t(%d+)\t(%d+)" do
    -- About as much as a look at the clock takes lies outside of what the function's own looks tell: 25 ns, in emulated
    -- machines 1200.
    local allowed = 0.45 * math.max(first, last) + math.abs(first - last) + look + 0.03 * own
    if math.abs(took - own) > allowed then
      wrong[#wrong + 1] = ("%s ns: %d, itself says %d, its probes take %d to %d"):format(ns, took, own, first, last)
    end
    if count == "201" then durations = durations + 1 end
  end
  if durations ~= 4 or r.err ~= "" then wrong[#wrong + 1] = "not all calls were seen: " .. r.out .. r.err end
  return table.concat(wrong, "; "), entry, text
end

local function check(fn, options, name, others)
  local wrong, entry, text
  for _ = 1, ATTEMPTS do
    wrong, entry, text = attempt(fn, options, others)
    if wrong == "" then break end
    print("# " .. wrong)
  end
  tap.is(wrong, "", name)
  tap.is(entry, fn, "  … of that kind")
  tap.like(text, "^net of the probe's own %d+%.%d us %(± %d+%.%d us%)", "  … as reports say it")
end

check("emulated", "", "functions of 0, 1, 10 and 100 us whose first instruction is emulated")
check("stepped", "", "… stepped")
check("emulated", '{ returns = "instructions" },', "… and with a probe on the return instruction")

check("emulated", "", "… and beside a function whose return instruction is probed, as itself is not",
  'up.uretprobe("./build/targets/spinner:main", { returns = "instructions" }, function(e) other:add(e.elapsed) end)')

target.done()
tap.done_testing()
