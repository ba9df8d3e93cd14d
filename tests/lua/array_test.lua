-- Arrays: integer keys that are always there, on both sides.
local setup = require "uplua.probe.setup"
local tap = require "tap"
local test_run = require "uplua.probe.providers.testrun"
local up = require "uplua"
local ok, is, like = tap.ok, tap.is, tap.like

local a, seen, n = up.array { max = 23 }, up.hash(), up.count()
local shapes, flags, big = up.array { max = 2 }, up.array { max = 3, value = "bool" },
  up.array { max = 5000000, value = "u8" }
local unused = up.array { max = 5 }

-- The script's own writes, before any handler.
a[22] = 5
unused:set(4, "x")
is(a[22], 5, "an array can be set before its handlers are compiled")
is(a[21], nil, "what was not set is not there yet")
for _, case in ipairs {
  { function() a[23] = 1 end, "array_test.lua:%d+: array: as a key, index 23 is not in 0 … 22" },
  { function() a[-1] = 1 end, "array_test.lua:%d+: array: as a key, index %-1 is not in 0 … 22" },
  { function() a.x = 1 end, "an array's keys are integers, not x" },
  { function() a[1.5] = 1 end, "an array's keys are integers, not 1.5" },
  { function() a[1] = nil end, "an array's entries cannot be deleted" },
  { function() up.array { key = "u32" } end, "array: unknown option 'key'; it has max, name, value" },
  { function() up.array { name = "a b" } end,
    "array: option 'name': it is letters, digits and _, as a variable's name, not 'a b'" },
  { function() up.array { max = 0 } end, "array: option 'max': 0 is not a whole number from 1" },
} do
  local good, message = pcall(case[1])
  ok(not good, "refused")
  like(message, case[2], "… with this message")
end

local run = test_run.handler("run", function(e)
  a[e.arg0] = (a[e.arg0] or 0) + e.arg1
  if a[e.arg0] == nil then n.outside:inc() end
  if e.arg0 == 7 then a[7] = e.arg1 * 2 end
end)
local strict = test_run.handler("strict", function(e) a[e.arg0] = a[e.arg0] - 1 n.after:inc() end)
local records = test_run.handler("records", function(e)
  if e.arg1 == 0 then shapes[e.arg0] = { bytes = e.arg1 + 10, who = e.comm, ok = true } end
  local r = shapes[e.arg0]
  if r then
    r.bytes = r.bytes + e.arg1
    seen[e.arg0] = r.bytes
  else
    seen[e.arg0] = -1
  end
end)
local only = up.array { max = 3 }
local adds = test_run.handler("adds", function(e) only[e.arg0] = only[e.arg0] + e.arg1 end)
local mixed = test_run.handler("mixed", function(e) flags[e.arg0] = e.arg1 > 3 big[e.arg0] = up.u8(e.arg1) end)
setup.commit()

for _, index in ipairs { 0, 22, 23, -1, 2LL ^ 32, 4294967296LL, 4294967297LL } do run { index, 100 } end
is(a[0], 100, "index 0 is there")
is(a[22], 105, "the last one too, with what the script had set")
is(n.outside, 5, "others are outside: they read nil, and one that is 0 in its lower half is no index 0")
is(a:size(), 23, "size is the array's")
is(a[1], 0, "an entry that nobody has set is 0")
is(a[23], nil, "outside is nil to the script too")
is(a[-1], nil, "below 0 as well")
is(a[2 ^ 32], nil, "and beyond 32 bits")
is(a:get(2LL ^ 40), nil, "as cdata")
run { 7, 30 }
is(a[7], 60, "an assignment")
strict { 7 }
strict { 23 }
is(a[7], 59, "a subtraction in place")
is(n.after, 1, "arithmetic on nil ends the handler")
is(tostring(a), "0   100\n7    59\n22  105", "it prints what is not 0, in the order of the indices")
local top = {}
for k, v in a:top(2) do top[#top + 1] = k .. "=" .. v end
is(table.concat(top, " "), "22=105 0=100", "top")

records { 0, 5 }
is(seen[0], 5, "a record of an array is there from the start, of zeros")
is(shapes[0].who, "", "with empty strings")
records { 0, 0 }
records { 0, 7 }
is(shapes[0].bytes, 17, "a reference writes into the array")
is(shapes[0].who, "uplua", "a string in it")
records { 2, 0 }
is(seen[2], -1, "no record outside")
shapes[1] = { bytes = 3, who = "x", ok = false }
records { 1, 1 }
is(seen[1], 4, "a record that the script has set")
adds { 2, 101 }
adds { 2, -1 }
is(only[2], 100, "an array that is only ever added to holds integers")
mixed { 1, 5 }
mixed { 2, 3 }
mixed { 4999999, 300 }
is(flags[1], true, "a declared boolean")
is(flags[2], false, "both ways")
is(big[4999999], 44, "five million bytes, the last of them cut from 300")
big[7] = 255
is(big[7], 255, "the script sets one")
local good, message = pcall(function() big[7] = 256 end)
like(message, "big: as a value, 256 is not in 0 … 255", "which has its width")
a:clear()
is(a[22], 0, "clear makes all 0")
is(tostring(a), "(empty)", "and nothing to print")
is(unused[4], "x", "an array without handlers is the script's own")

local losses = {}
for _, loss in ipairs(setup.ledger()) do losses[#losses + 1] = loss[2] .. " × " .. loss[1]:gsub(", [^,]*$", "") end
table.sort(losses)
is(table.concat(losses, "; "), "1 × an index of 'flags' is not in 0 … 2: not stored; " ..
  "1 × an index of 'shapes' is not in 0 … 1: not stored; 1 × handler ended by an error: " ..
  "arithmetic or comparison on nil; " ..
  "5 × an index of 'a' is not in 0 … 22: not stored", "the ledger has what was not stored")

-- What is refused.
for _, case in ipairs {
  { function(e) a[e.comm] = 1 end, "'a' is an array: its keys are integers from 0 on, not a string" },
  { function() a[1] = nil end, "an array's entries cannot be deleted; set 'a' to 0 there" },
  { function(e) local x if e.arg0 > 1 then x = 1 end a[1] = x end, "may be nil, which an array's entries never are" },
} do
  test_run.handler("refused", case[1])
  local compiled, why = pcall(setup.commit)
  ok(not compiled, "refused")
  like(why, "array_test.lua:%d+: .*" .. case[2], "… with this message")
  setup.discard()
end
setup.close()
tap.done_testing()
