-- uplua.heat, on values whose numbers are known: rows, columns that double, SVG, data; and sparklines in tables.
local cjson  = require "cjson"
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local LIGHTS = "./build/targets/lights"
-- turn is called 7 × 304 times; of these with the colours 0, 1, 2: 714, 707, 707.
local function run(declaration, value, report, options)
  return target.uplua(("%s -e %s -- %s"):format(options or "", target.quote(([[
    local up = require "uplua"
    local h = require "uplua.heat".new { %s }
    up.uprobe("%s:turn", function(e) local colour = up.i32(e.arg1) local light = up.i32(e.arg0) h:add(%s) end)
    up.at_exit(function() %s end)]]):format(declaration, LIGHTS, value, report or "h:print()")), LIGHTS))
end

local function heat_of(r) return (r.out:gsub("^.*(2,128 values, .-)$", "%1")) end

local first = run('every = "1h", unit = "ns"', "(colour + 1) * 1000 * 1000")
is(first.status .. first.err, "0", "three values")
like(heat_of(first), "^2,128 values, a column is 60 min 0 s, the darkest cell 714\n", "how many there are")
local rows = {}
for label, cell in heat_of(first):gmatch "\n *(%S+ %ws) |(%S?)" do rows[#rows + 1] = label .. cell end
ok(#rows >= 3 and #rows <= 24, "rows of a scale of powers of two", #rows)
local marked = table.concat(rows, " "):gsub("%S+ ms%f[ %z]", "")
is(select(2, marked:gsub("[@#]", "")), 3, "a row for each of the values")
like(first.out, "\n +%d%d:%d%d:%d%d\n", "and the time of the column")

local linear = run('every = "1h", scale = "linear", low = 1, high = 3, rows = 2', "colour", "print(h:svg()) h:print()")
is(linear.status .. linear.err, "0", "a linear scale")
like(linear.out, ", &lt; 1: 714, 33%.6 %% of 2,128</title>", "what lies below it")
like(linear.out, ", 1: 707, 33%.2 %% of 2,128</title>", "a step of one value")
like(heat_of(linear), "\n  2 |@\n  1 |@\n< 1 |@\n", "on the terminal")

local ends = run('every = "1h", scale = "linear", low = 1, high = 2', "colour * 10 - 10", "print(h:svg())")
like(ends.out, ", ≥ 2: 707,", "what lies above it")
local negative = run('every = "1h"', "colour * 10 - 10", "print(h:svg())")
like(negative.out, ", &lt; 0: 714,", "negative values")
like(negative.out, ", 0: 707,", "zeros")

-- --- data ---

local cells = {}
for line in run('every = "1h"', "colour", nil, "--format json").out:gmatch "{[^\n]+" do
  local record = cjson.decode(line)
  if record.type == "table" then
    for _, row in ipairs(record.rows) do cells[#cells + 1] = ("%d-%d %d"):format(row.low, row.high, row.count) end
  end
end
is(table.concat(cells, ", "), "0-0 714, 1-1 707, 2-2 707", "as data")

-- --- many columns: each 10 ms, for longer than 5.12 s, in a script's own time ---

local many = target.script([[
local up = require "uplua"
local heat = require "uplua.heat"
local h = heat.new { every = "10ms", unit = "count" }
local now = up.now()
local real, entries = up.now, 0
up.now = function() return now end
local eight = { count = 1, buckets = function() return { { low = 8, high = 8, count = 1 } } end }
local late -- intervals that a take has to take together
h.values = { take = function() return { pairs = function()
  local slices, slice = {}, math.floor(now / 10e6)
  for i = slice - (late or 0), slice do slices[i] = eight end
  return pairs(slices)
end } end }
h:take()
now, late = now + 50e6, 4
h:take()
local apart = {}
for c = 1, h.last do apart[c] = h.columns[c][8] or 0 end
print(table.concat(apart, " "))
h, late = heat.new { every = "10ms", unit = "count" }, nil
h.values = { take = function() return { pairs = function() return pairs { [math.floor(now / 10e6)] = eight } end } end }
h:take()
for i = 1, 2000 do
  now = now + 10e6
  h:take()
end
up.now = real
local sum = 0
for c = 1, h.last do
  for _, n in pairs(h.columns[c]) do sum = sum + n end
end
print(h.last <= 512 and h.last > 256, h.interval, sum, h.count)
print((h:text(80):gsub("\n.*", "")))
local _, lines = h:text(80):gsub("\n[^\n]*", "")
for line in h:text(80):gmatch "[^\n]+" do assert(#line <= 80, line) end
up.exit()
]], "")
like(many.out, "^1 1 1 1 1 1\ntrue\t40000000\t2001\t2001\n2,001 values, a column is [%d.]+ [m]?s, the darkest cell ",
  "512 columns at most, and nothing is lost")

-- --- what cannot be ---

for _, case in ipairs {
  { 'scale = "linear"', "a linear scale goes from low to high: give both" },
  { 'scale = "linear", low = 3, high = 3', "a linear scale goes from low to high: give both" },
  { 'scale = "cubic"', "option 'scale': it is log or linear, not 'cubic'" },
  { 'every = 5', "did you mean \"5s\"" },
  { 'colour = "red"', "unknown option 'colour'" },
} do
  local failed = run(case[1], "1")
  ok(failed.status == 1 and failed.err:find(case[2], 1, true), case[2], failed.err)
end
like(run("", "1", 'h:write "/nowhere/a.svg"').err, "heat: cannot write /nowhere/a%.svg", "a file that is nowhere")

-- --- sparklines in tables ---

local view = require "uplua.view"
local sparks = view.new { { "name", "Name" }, { "past", "Past", "spark" }, { "n", "N", "count" } }
is(sparks:text({ { name = "a", past = { 1, 5, 22 }, n = 28 }, { name = "b", n = 1 } }, 80),
  "Name  Past   N\na     .:@   28\nb            1", "a column of sparklines")
target.done()
tap.done_testing()
