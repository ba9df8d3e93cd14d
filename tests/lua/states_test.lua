-- uplua.states, on lights whose states are known: how often, for how long, the longest, what leaves, and what cannot
-- be.
local cjson  = require "cjson"
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local LIGHTS = "./build/targets/lights"
local PROBES = [[
local up = require "uplua"
local states = require "uplua.states"
local lights = states.new { names = { "red", "green", "yellow" }, title = "Light" MORE }
up.uprobe("./build/targets/lights:turn", function(e)
  local colour = up.i32(e.arg1)
  lights:enter(up.i32(e.arg0), colour == 0 and "red" or colour == 1 and "green" or "yellow", e.arg0 * 3)
end)
up.uprobe("./build/targets/lights:take_away", function(e) lights:leave(up.i32(e.arg0)) end)
]]

-- Runs the probes with MORE options, and with REPORT behind them.
local function run(report, more, options)
  local code = PROBES:gsub("MORE", more or "") .. report
  return target.uplua(("%s -e %s -- %s"):format(options or "", target.quote(code), LIGHTS))
end

local NS = 1e-9

-- --- how often, and for how long ---

local first = run [[
local greens, causes, slow = up.count(), up.count(), 0
lights:ended("green", function(s, e)
  greens[s.key]:inc()
  if s.cause == s.key * 3 and s.since + s.elapsed == e.time then causes:inc() end
end)
lights:ended("green", function(s) greens[100]:inc() end)
lights:slow("red", "150us", function(s)
  slow = slow + 1
  assert(s.name == "red" and s.comm == "lights" and s.pid == s.tid and s.elapsed >= 150000 and s.cause == s.key * 3)
end)
up.at_exit(function()
  for _, row in ipairs(lights:rows()) do
    print("row", row.key, row.state, row["red times"], row["green times"], row["yellow times"])
    print("times", row.key, row.red - (row.age or 0), row.green, row.yellow, row.total, row["green longest"])
  end
  for key, n in greens:pairs() do print("greens", key, n) end
  print("causes", causes:get(), "slow", slow)
end)
]]
is(first.status .. first.err, "0", "the lights")
local expected = {}
for light = 0, 6 do
  expected[light + 1] = ("%d\t%s\t%d\t101\t101"):format(light, light == 6 and "nil" or "red", light == 6 and 102 or 101)
end
is(target.lines(first.out, "row"), table.concat(expected, "\n"), "how often, and in which state each is")
like(first.out, "greens\t100\t707\n", "each of two handlers for the ends of a state runs")
for light = 0, 6 do
  like(first.out, ("greens\t%d\t101\n"):format(light), ("light %d was green 101 times"):format(light))
end
like(first.out, "causes\t707\t", "what they are given")
-- The last red of the light that is taken away may take as long where the machine is slow.
like(first.out, "\tslow\t70[78]\n", "what is slow")

local least, most = {}, {}
for light, red, green, yellow, rest in first.out:gmatch "(%d) (%d+) (%d+) (%d+) (%d+ %d+ %d+)\n" do
  least[light] = { red = tonumber(red), green = tonumber(green), yellow = tonumber(yellow) }
  red, green, yellow = rest:match "(%d+) (%d+) (%d+)"
  most[light] = { red = tonumber(red), green = tonumber(green), yellow = tonumber(yellow) }
end
local function within(light, what, seen)
  local low, high = least[light][what], most[light][what]
  ok(low <= seen and seen <= high, ("light %s is %s as long as by its own clock"):format(light, what),
     ("%.6f s, not %.6f to %.6f"):format(seen * NS, low * NS, high * NS))
end
local seen = 0
for light, red, green, yellow, total, longest in first.out:gmatch "times\t(%d)\t(%d+)\t(%d+)\t(%d+)\t(%d+)\t(%d+)" do
  seen = seen + 1
  red, green, yellow = tonumber(red), tonumber(green), tonumber(yellow)
  within(light, "red", red)
  within(light, "green", green)
  within(light, "yellow", yellow)
  ok(tonumber(total) >= red + green + yellow, "all of them are its time")
  ok(tonumber(longest) * 101 >= tonumber(green), "the longest is no shorter than the mean")
end
is(seen, 7, "there are 7")

-- --- the report ---

local report = run('up.at_exit(function() lights:print { by = "red", top = 3 } end)', ", longest = 2").out
  :gsub("^[^S]*", "")
like(report, "^State +Times +p50 +p99 +Longest +Total +Share\nred +708 ", "its states, the one with most time first")
like(report, "\n\nLight +red +green +yellow +Times red  Longest red\n0 ", "its keys, the one that was red longest")
like(report, "\n… and 4 others\n", "what is left out is counted")
local _, longest = report:gsub("\n *[%d.]+ [mu]s +%d +%d%d:%d%d:%d%d%.%d+  lights %(pid %d+, thread %d+%)", "")
is(longest, 2, "the longest, with who ended them")

local tables = {}
for line in run('up.at_exit(function() lights:print { by = "red" } end)', "", "--format json").out:gmatch "{[^\n]+" do
  tables[#tables + 1] = cjson.decode(line)
end
is(#tables[1].rows .. " " .. #tables[2].rows, "3 7", "as data: states and keys")
is(tables[3].type .. (tables[3].who or ""):sub(1, 0), "record", "… and the longest")

-- --- anew ---

local again = run [[
up.at_exit(function()
  lights:print { by = "green", anew = true }
  print "again"
  lights:print { by = "green", anew = true }
end)
]]
like(again.out, "\ngreen +707 ", "a report of what is new has all at first")
like(again.out, "again\nState +Times[^\n]*\ngreen +0 [^\n]*\n\nLight +green +Times green\n", "and then nothing")

-- --- what cannot be ---

local full = run("up.at_exit(function() print(#lights:rows()) end)", ", max = 3")
like(full.out, "\n3\n", "so many keys as there is room for")
like(full.err, "1,216 × 'states_now' is full %(max = 3%)", "the others are in the ledger")

for _, case in ipairs {
  { 'states.new { names = { "red", "red" } }', "there are two states 'red'" },
  { 'states.new { names = { "key" } }', "'key' is what each row has besides its states" },
  { 'states.new { names = {} }', "names is a list of the states' names" },
  { 'states.new { names = "red" }', "names is a list of the states' names" },
  { 'states.new { names = { 1 } }', "a state's name is a text, not 1" },
  { 'states.new { names = { "red" }, keys = "process" }', "keys are \"thread\"" },
  { 'states.new { names = { "red" } }:slow("rod", "1ms", print)', "there is no state 'rod'; did you mean 'red'%?" },
  { 'states.new { names = { "red" } }:slow("red", "soon", print)', "'soon' is no duration" },
  { 'states.new { names = { "red" } }:ended("red", 1)', "a handler is expected" },
  { 'l = states.new { names = { "red" } } up.uprobe("LIGHTS:turn", function(e) l:enter(1, "red") end) ' ..
    'up.at_start(function() l:ended("red", function(s) end) end)', "are loaded already: call it before they are" },
  { 'states.new { names = { "red" } }:print { by = "rod" }', "option 'by': there is no such state" },
  { 'l = states.new { names = { "red", "blue" } } up.uprobe("LIGHTS:turn", function(e) l:enter(1, "rod") end)',
    ":1: there is no state 'rod'; there are red, blue" },
  { 'l = states.new { names = { "red" } } up.uprobe("LIGHTS:turn", function(e) l:enter(1, e.comm) end)',
    ":1: a state is known when the handler is compiled: write its name there, or a choice of names" },
  { 'l = states.new { names = { "red" } } up.uprobe("LIGHTS:turn", function(e) l:enter(1, e.arg0 > 1 and "red" or ' ..
    '"rod") end)', ":1: there is no state 'rod'; there are red" },
} do
  local code = 'up = require "uplua" states = require "uplua.states" ' .. case[1]:gsub("LIGHTS", LIGHTS)
  like(target.script(code, "-- " .. LIGHTS).err, case[2], case[2])
end
target.done()
tap.done_testing()
