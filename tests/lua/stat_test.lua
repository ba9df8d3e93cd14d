-- stat.lua: ratios, groups, tables by CPU, process and expression, as text and data; events of software, which every
-- machine counts.
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local has_json, cjson = pcall(require, "cjson")

local SHOP = "./build/examples/shop"
local DELIVER, SELL = SHOP .. ":deliver", SHOP .. ":sell"

local function on_shop(arguments)
  local run = target.uplua(("%s -- %s"):format(arguments, SHOP))
  is(run.err, "", arguments)
  return (run.out:gsub("101 orders, income 355.01, receipts %x+\n", ""))
end

-- --- lines ---

local out = on_shop(("stat.lua %s %s --ratio deliver/sell --ratio 'a share=sell/deliver'"):format(DELIVER, SELL))
like(out, "^Time +deliver +sell  deliver/sell +a share\n%S+ +213 +101 +2.11 +0.47  in %S+ %l?s\n"
  .. "Sum +213 +101 +2.11 +0.47\n$", "ratios, with a name and without")
out = on_shop "stat.lua perf:minor-faults,page-faults --ratio minor-faults/page-faults"
local minor, all = out:match "\nSum +(%d+) +(%d+) +1.00\n$"
ok(minor and minor == all and tonumber(all) > 23, "a group is counted at the same times")
out = on_shop(("stat.lua %s --ratio major-faults/page-faults"):format(SELL))
like(out, "^Time +sell  major%-faults  page%-faults  major%-faults/page%-faults\n.*\nSum +101 +0 +%d+ +0.00\n$",
  "what a ratio needs is counted")
out = on_shop(("stat.lua %s %s --ratio sell/major-faults"):format(DELIVER, SELL))
like(out, "\nSum +213 +101 +0\n$", "a ratio with nothing is an empty cell")

if has_json then
  local records, last, sums = {}, nil, nil
  local out = on_shop(("--format json stat.lua %s %s --ratio twice=deliver/sell"):format(DELIVER, SELL))
  for line in out:gmatch "[^\n]+" do
    local one = cjson.decode(line)
    if one.type == "record" then records[#records + 1] = one end
    if one.type == "table" then sums = one end
    last = one
  end
  is(#records, 1, "a record for each line")
  is(("%d %d %.4f"):format(records[1].deliver, records[1].sell, records[1].twice), "213 101 2.1089", "its columns")
  ok(records[1].interval > 0 and records[1].time > 0, "when it ends, and how long it is")
  is(sums.heading .. sums.rows[1].sell .. sums.columns[4].unit, "Sum101ratio", "the sums")
  is(last.type .. #last.lost, "ledger0", "nothing was lost")
else
  tap.skip "there is no cjson for LuaJIT here (package lua-cjson)"
end
like(on_shop(("--format csv stat.lua %s"):format(SELL)),
  "^time,interval,sell\n%d+,%d+,101\n\ninterval,sell\n%d+,101\n$",
  "CSV")

-- --- tables ---

like(on_shop(("stat.lua --by process %s perf:page-faults,minor-faults"):format(SELL)),
  "^Process +PID  sell  page%-faults  minor%-faults\nshop +%d+ +101 +%d+ +%d+\n$",
  "by process, as the kernel counts it")
local places = on_shop(
  "--format csv stat.lua --by thread perf:page-faults,minor-faults --ratio minor-faults/page-faults")
like(places, "^comm,pid,tid,page%-faults,minor%-faults,minor%-faults/page%-faults\nshop,(%d+),%1,(%d+),%2,1\n$",
  "by thread")
like(on_shop(("stat.lua -b 'e.arg1 %% 2' %s %s --ratio deliver/sell"):format(SELL, DELIVER)),
  "^e.arg1 %% 2  sell  deliver  deliver/sell\n0 +53 +128 +2.42\n1 +48 +85 +1.77\n$", "by an expression")
local faults = on_shop "--format csv stat.lua --by e.uid perf:page-faults perf:minor-faults"
like(faults, "^by,page%-faults,minor%-faults\n%d+,(%d+),%1\n$",
  "events of software by an expression, by a handler each")
local by_kernel, by_handlers = tonumber(places:match ",(%d+),%d+,1\n"), tonumber(faults:match "\n%d+,(%d+)")
ok(by_kernel and by_handlers and math.abs(by_kernel - by_handlers) <= 23,
  ("… about as many as the kernel counts: %s and %s"):format(tostring(by_handlers), tostring(by_kernel)))

local run = target.uplua "--duration 0.3 --format csv stat.lua -b cpu perf:page-faults,minor-faults perf:cpu-clock"
is(run.err, "", "by CPU")
local cpus, seen = 0, 0
for line in io.lines "/proc/stat" do cpus = cpus + (line:find "^cpu%d" and 1 or 0) end
for cpu, pages, rest in run.out:gmatch "\n(%d+),(%d+),(%d+),%d+" do
  seen = seen + 1
  ok(tonumber(pages) + 23 >= tonumber(rest), "CPU " .. cpu) -- some began before the count
end
is(seen, cpus, "a row for each CPU")
run = target.uplua(("--duration 60 stat.lua -i 0.1 --count 2 -b cpu perf:cpu-clock"))
is(select(2, run.out:gsub("in %S+ %l*s\nCPU +cpu%-clock\n", "")), 2, "--count ends it after so many tables")

-- --- a row for each spec ---

like(on_shop(("stat.lua --live -i 60 %s %s --ratio deliver/sell"):format(DELIVER, SELL)),
  "^%S+  in %S+ %l*s, where it ended\nSpec +Hits  Per second  In all  Ratio\ndeliver +213 +[%d,]+ +213\n"
  .. "sell +101 +[%d,]+ +101\ndeliver/sell +2.11\n$", "--live")

-- --- what is refused ---

for arguments, message in pairs {
  ["--ratio a"] = "^stat.lua: %-%-ratio a: write A/B or NAME=A/B, such as instructions/cycles; see %-%-help\n$",
  ["--ratio deliver/nosuch " .. DELIVER] =
    "^stat.lua: %-%-ratio: no column is called nosuch, and it cannot be counted: ",
  ["perf:page-faults,nosuch"] = "^stat.lua: counter nosuch: no such event",
  ["perf:page-faults,"] = "^stat.lua: perf:page%-faults,: '' is no event that is counted; see ",
  ["--live -b cpu " .. SELL] =
    "^stat.lua: %-%-live: a table of %-%-by lives with %-%-interval; leave out %-%-live; see ",
  ["-b cpu perf:cpu-clock"] =
    "^stat.lua: %-%-by cpu: perf:cpu%-clock is counted of a target by process and thread; leave out the target; see ",
  ["-b e.uid perf:task-clock"] =
    "^stat.lua: %-%-by e.uid: perf:task%-clock is counted of a target by process and thread; ",
} do
  run = target.uplua(("stat.lua %s -- %s"):format(arguments, SHOP))
  like(run.err, message, arguments)
  is(run.status, 2, "… with status 2")
end
target.done()
tap.done_testing()
