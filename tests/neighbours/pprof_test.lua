-- `go tool pprof` beside the scripts on one run: the totals, and each function's own number and total.
package.path = "tests/lua/?.lua;tests/neighbours/?.lua;" .. package.path
local tap       = require "tap"
local target    = require "target"
local neighbour = require "neighbour"

-- Adds to FUNCTIONS[NAME] = { self, total }. Functions of one name in two files are one here, whose totals do not add
-- up: a stack may have both.
local function add(functions, name, self, total)
  local one = functions[name]
  functions[name] = { (one and one[1] or 0) + self, one and "-" or tonumber(total) }
end

-- The functions of the file PATH as pprof has them, and the sum of all.
local function top(path)
  local run = target.shell(([[HOME="$D" go tool pprof -unit=count -nodecount=100000 -nodefraction=0 -top %s \
    >"$D/out" 2>"$D/err"]]):format(path))
  local functions = {}
  for self, total, name in run.out:gmatch "\n +([%d]+) +[%d.]+%% +[%d.]+%% +([%d]+) +[%d.]+%% +([^\n]+)" do
    -- What says why a stack ends is a frame there, and in the table no function.
    if not name:find "^%[stack " and not name:find "^%[no unwind table" then
      add(functions, name:gsub(" %(inline%)$", ""):gsub(" %(partial%-inline%)$", ""), self, total)
    end
  end
  return functions, tonumber(run.out:match " of (%d+) total"), run
end

-- The functions of profile.lua's table, and the sum of what is their own.
local function table_of(text)
  local functions, sum = {}, 0
  text = text:gsub("(%d),(%d)", "%1%2")
  for self, total, name in text:gmatch "\n +(%d+) +[%d.]+ %% +@* +(%d+) +[%d.]+ %%  ([^\n]+)" do
    name = name:match "^(.-)  " or name
    add(functions, name, self, total)
    sum = sum + self
  end
  return functions, sum
end

local PROGRAMS = {
  { "gzip", "gzip -9 -c build/targets/busy /usr/bin/perl" }, { "perl", "perl -e '$x .= sqrt $_ for 1 .. 3e6'" },
  { "sort", "sort -R /usr/bin/perl" }, { "busy", "build/targets/busy user 1" },
  { "find", "find /usr/share/doc /usr/include -name 'a*' -newer /etc/hostname" },
}
local path = os.tmpname() .. ".pb.gz"
for _, program in ipairs(PROGRAMS) do
  local out = neighbour.run(("profile.lua -F 499 --by stack -n 0 -o %s"):format(path), program[2], nil, true)
  local mine, sum = table_of(out)
  local theirs, total, run = top(path)
  tap.ok(total, program[1] .. ": pprof reads it", run.err)
  tap.is(total, sum, program[1] .. ": the totals are equal")
  for name in pairs(mine) do -- pprof has one where the table has two, or the other way round
    if mine[name][2] == "-" and theirs[name] then theirs[name][2] = "-" end
  end
  local count = neighbour.same(mine, theirs, program[1] .. ": so are the functions, each with its own and its total")
  tap.ok(count >= 7, program[1] .. ": which are some")
end
os.remove(path)
tap.done_testing()
