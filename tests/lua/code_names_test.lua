-- Names of code: where symbols have no size, where one address has several, and where a process removes its own.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

-- Runs PROGRAM under a handler of FUNCTION: the stacks' lines of names, with how often, as a sorted list.
local function stacks(spec, program)
  local run = target.uplua(([[-e 's = count()
    uprobe("%s", function(e) s[e:ustack(5)]:inc() end)
    at_exit(function() for k, n in s:pairs() do
      print("stack", n, k:text { offsets = false, one_line = " " }) end s:clear() end)' -- %s]]):format(spec, program))
  local list = {}
  for count, names in run.out:gmatch "stack\t(%d+)\t([^\n]*)" do list[#list + 1] = count .. " " .. names end
  table.sort(list)
  return list, run
end

local PLACE = "libsizeless%.so%+0x%x+"
local list, run = stacks("libc:malloc", "./build/targets/sizeless")
local found = {}
for _, line in ipairs(list) do
  if line:find " main" and line:find "entry" then found[#found + 1] = line end
end
is(#found, 2, "a stripped library calls malloc at two places")
like(found[1], ("^23 malloc %s %s entry main"):format(PLACE, PLACE), "hidden functions are no part of the one before")
like(found[2], ("^23 malloc %s entry_by_pointer main"):format(PLACE), "nor is the last one")
is(run.err, "", "nothing is missing")

list = stacks("./build/targets/sizeless:mark", "./build/targets/sizeless")
is(#list, 1, "a program calls a function below one whose symbol is removed")
like(list[1], "^23 mark described sizeless%+0x%x+ main",
  "a function without a size has its name to where its description ends, and no further")

list = stacks("./build/targets/static_pie:malloc", "./build/targets/static_pie")
like(list[#list], "^23 malloc allocates main", "a name that people know, though it is local")

run = target.uplua [[-e 's = count()
  uprobe("./build/targets/unlinks:mark", function(e) s[e:ustack(3)]:inc() end)
  at_exit(function() for k, n in s:pairs() do
    print("stack", n, k:incomplete() or "whole", k:text { offsets = false, one_line = " " }) end s:clear() end)' \
  -- ./build/targets/unlinks]]
like(run.out, "23 and 101 calls\n", "a process that names its code, and removes the names")
like(run.out, "stack\t23\twhole\tmark made_first ", "they are kept while it runs")
like(run.out, "stack\t101\twhole\tmark made_later ", "and what it adds to them")
is(run.err, "", "nothing is missing")

tap.done_testing()
