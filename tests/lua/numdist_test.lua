-- scripts/numdist.lua on the shop, whose 101 orders have known numbers of pieces.
local cjson  = require "cjson"
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local SHOP = "./build/examples/shop"
local function run(options)
  local ran = target.uplua(("numdist.lua %s %s:sell -- %s"):format(options, SHOP, SHOP))
  is(ran.status .. ran.err, "0", "numdist.lua " .. options)
  return (ran.out:gsub("^101 orders[^\n]*\n", ""))
end

local known = run "--value e.arg1"
is(known, "Values  Min  Avg  p50  p95  p99  Max\n   101    0   10   10   21   22   22\n", "a number of all hits")
like(run "--value size:bytes=e.arg1*1024 --top 1", "^Values +Min[^\n]*\n +101 +0 B +10%.4 KB", "with a unit")
local rows, sum = 0, 0
for n in run "--value e.arg1 --key who=e.arg1 --top 0":gmatch "\n%d+ +(%d+) " do rows, sum = rows + 1, sum + n end
is(rows .. " " .. sum, "23 101", "by key")
local _, lines = run "--value e.arg1 --than 20":gsub("\n%d%d:%d%d:%d%d%.%d+ +2[0-2] ", "")
local _, twenty = run "--value e.arg1 --where 'e.arg1 >= 20'":gsub("\n +" .. lines .. " +20 ", "")
ok(lines > 0 and twenty == 1, "a line for each that is no less", lines)
like(run "--value e.arg1 --heat",
  "\n\ne%.arg1: 101 values, a column is 1%.0 s, the darkest cell 33\n16 |#", "the picture")
like(run "--return --value e.elapsed", "\nTimes of functions are ", "times are net of the probe")
local svg = target.folder() .. "-n.svg"
run("--value e.arg1 --svg " .. svg)
local cells = 0
for n in target.read(svg):gmatch ": (%d+), [%d.]+ %% of " do cells = cells + n end
is(cells, 101, "the picture as a file has them all")
os.remove(svg)
local record = cjson.decode(target.uplua(("--format json numdist.lua --value e.arg1 %s:sell -- %s"):format(SHOP, SHOP))
  .out:match "{[^\n]+")
is(record.rows[1].max .. " " .. record.rows[1].count, "22 101", "as data")
like(target.uplua("numdist.lua -- true").err, "at which probes%? Give specs", "no probe")
like(target.uplua("numdist.lua " .. SHOP .. ":sell -- true").err, "which number%? Give %-%-value", "no number")
target.done()
tap.done_testing()
