-- Many fields behind pointers in one printf, each of which may be nil: as many as `ring:emit` takes. The verifier must
-- not follow each that is there and each that is not.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

-- What a handler of SPEC in PROGRAM prints whose body is SOURCE, which has e and up.
local function printed(program, spec, source)
  local run = target.script(([[
    local up = require "uplua"
    local found = up.hash()
    up.uprobe(%q, function(e) %s end)]]):format(program .. ":" .. spec, source), "-- " .. program)
  if run.status ~= 0 then io.stderr:write(run.err) end
  return run
end

-- LINE 23 times.
local function times(line) return (line .. "\n"):rep(23) end

local CHAIN, TREE = "./build/targets/pointer_chain", "./build/targets/pointer_tree"

-- ten and sixteen numbers behind up to three pointers
local fields = {}
for _, argument in ipairs { "a", "b", "c", "d" } do
  local path = "e.args." .. argument
  for _ = 1, 4 do
    fields[#fields + 1] = path .. ".v"
    path = path .. ".next"
  end
end
local truth = { 0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6 }
local recent = target.has "may_goto" -- Linux 6.9; 6.1's verifier follows a million instructions of ten, and gives up
for _, count in ipairs(recent and { 4, 5, 6, 10, 16 } or { 4, 5, 6 }) do
  local format = ("%d "):rep(count - 1) .. "%d\\n"
  local run = printed(CHAIN, "f", ('up.printf("%s", %s)'):format(format, table.concat(fields, ", ", 1, count)))
  is(run.out, times(table.concat(truth, " ", 1, count)), count .. " fields behind pointers")
  is(run.err, "", "and nothing is said of losses")
end
local run
if recent then
  run = printed(CHAIN, "f", ('up.printf("%%d\\n", %s)'):format(table.concat(fields, " + ")))
  is(run.out, times "48", "their sum")
else
  tap.skip "ten fields and more: the verifier of kernels before 6.9 finds them too complex"
end

-- numbers and booleans; what is not there is nil in a text, and ends a handler that computes with it
local names, values = {}, {}
for i = 1, 15 do
  local bits, path, at = {}, "e.args.root", i
  while at > 1 do
    table.insert(bits, 1, at % 2)
    at = math.floor(at / 2)
  end
  for _, side in ipairs(bits) do path = ("%s.below[%d]"):format(path, side) end
  names[#names + 1] = path .. ".value.number"
  values[#values + 1] = 1000 + i
end
if recent then
  run = printed(TREE, "walk", ('up.printf("%s\\n", %s)'):format(("%d"):rep(15, " "), table.concat(names, ", ")))
  is(run.out, times(table.concat(values, " ")), "a tree's fifteen numbers")
end
names, values = {}, {}
for i = 0, 7 do
  local path = ("e.args.root.below[%d].below[%d].below[%d]"):format(math.floor(i / 4), math.floor(i / 2) % 2, i % 2)
  names[#names + 1], values[#values + 1] = path .. ".value.odd", tostring(i % 2 == 1)
  names[#names + 1], values[#values + 1] = path .. ".below[1].value", "nil"
end
run = printed(TREE, "walk", ('up.printf("%s\\n", %s)'):format(("%s"):rep(16, " "), table.concat(names, ", ")))
is(run.out, times(table.concat(values, " ")), "booleans, and pointers that are NULL")
like(run.err, "^$", "which is no loss")

-- the same of maps
local reads = {}
for i = 1, 16 do reads[i] = ("found[%d]"):format(i) end
run = printed(TREE, "walk", ([[
  found[1] = 7 found[16] = 9
  up.printf("%s\n", %s)]]):format(("%s"):rep(16, " "), table.concat(reads, ", ")))
is(run.out, times("7" .. (" nil"):rep(14) .. " 9"), "sixteen values of a map")
target.done()
tap.done_testing()
