-- Functions that are called at some places and inlined at others (tests/targets/inlined.cc): a probe of the function
-- sees the calls, and the report says of the rest. A probe of its source line sees all.
local tap    = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local P = "./build/targets/inlined"

-- Counts by function, as "name count" sorted, of a probe of SPEC, and how many places it has; and what is said.
local function count(spec, kind)
  local r = target.uplua(("-e %s -- %s"):format(target.quote(([[
n = count()
p = %s("%s:%s", function(e) n[e.func]:inc() end)
print("sites", #p:sites())
at_exit(function() for k, v in n:pairs() do print("=", k, v) end end)]]):format(kind or "uprobe", P, spec)), P))
  local lines = {}
  for name, number in r.out:gmatch "=\t([^\n]-)\t(%d+)" do lines[#lines + 1] = name .. " " .. number end
  table.sort(lines)
  return table.concat(lines, ", "), tonumber(r.out:match "sites\t(%d+)"), r.err
end

local function total(counts)
  local sum = 0
  for number in (counts .. ","):gmatch " (%d+)," do sum = sum + tonumber(number) end
  return sum
end

-- FUNCTION, which people read as NAME, is called CALLS times by itself, and runs RUNS times in all; its source line.
for _, case in ipairs {
  { "get", "get(int)", 7, 7 + 23 + 101, "inlined.cc:%d+" },
  { "shared_get", "shared_get(int)", 3, 3 + 13 + 17 + 19, "inlined.h:%d+" },
  { "Counter::next", "Counter::next()", 5, 5 + 29 + 31, "inlined.h:%d+" },
} do
  local spec, name, calls, runs, line = unpack(case)
  local counts, _, err = count(spec)
  is(counts, name .. " " .. calls, name .. ": its calls")
  local places, place = err:match("^uplua: not everything was seen:\n  (%d+) × uprobe %S+:" .. spec ..
    ": place where " .. name:gsub("%p", "%%%0") .. " is inlined: calls not seen; " ..
    "a probe of its source line is there, too: %S+@(" .. line .. ")\n$")
  tap.ok(places, "… the rest is said: " .. err)
  local all, sites, said = count(place or "")
  is(total(all), runs, "… a probe of its line sees all: " .. all)
  is(sites, 1 + (tonumber(places) or 0), "… at the function and at each place once")
  is(said, "", "… of which nothing is said")
end

local counts, _, err = count "never_inlined"
is(counts .. err, "never_inlined(int) 11", "a function that is inlined nowhere: nothing is said")
counts, _, err = count "wrap"
is(counts .. err, "wrap(int) 13", "one into which another is inlined, of which two files have code")
_, _, err = count("get", "uretprobe")
like(err, "\n  %d+ × uretprobe %S+: place where get%(int%) is inlined: calls not seen\n$",
     "returns, for which no probe of a line stands in")
_, _, err = count "*get*"
like(err, "\n  %d+ × uprobe %S+: place where one of 2 functions, such as [%w_]+%(int%), is inlined: calls not seen; " ..
     "a probe of its source line is there, too: %S+\n$", "several functions")
local r = target.uplua(("funccount.lua 'uprobe:%s:get' -- %s"):format(P, P))
like(r.err, "\n  %d+ × probe uprobe:%S+: place where get%(int%) is inlined: calls not seen; ", "by a script's option")

-- Functions that have the names of methods: here they are keys.
counts, _, err = count "inc"
is(counts .. err, "inc 2", "a function that is called inc")
counts, _, err = count "pairs"
is(counts .. err, "pairs 3", "a function that is called pairs")

-- Constructors, which compilers make two of; and files that are optimised as one program: the report has all places,
-- and a probe of the line that it names sees all runs.
local function runs_everywhere(program, spec, places, runs, calls)
  P = program
  local function of(what)
    local seen, _, said = count(what)
    return total(seen), said
  end
  local seen, said = of(spec)
  is(seen, calls, program .. ": " .. spec .. " is called")
  local number, line = said:match("\n  (%d+) × [^\n]-; a probe of its source line is there, too: %S+@(%S+)\n$")
  is(number, places, "… and inlined: " .. said)
  is(of(line or ""), runs, "… the line sees all")
end
runs_everywhere("./build/targets/inlined_classes", "Object::Object", "2", 30, 0)
runs_everywhere("./build/targets/inlined_classes", "Object::~Object", "2", 30, 0)
runs_everywhere("./build/targets/inlined_whole-lto", "counted", "1", 30, 7)
if tap.has "ld.lld" then
  local program = target.folder() .. "-thin"
  is(os.execute("clang -O2 -g -flto=thin -fuse-ld=lld -o " .. program ..
                " tests/targets/inlined_whole.c tests/targets/inlined_whole_too.c"), 0, "optimised by clang's linker")
  P = program
  local seen, _, said = count "counted"
  is(seen, "counted 7", "… a function of another file is called")
  like(said, "\n  %d+ × [^\n]-: place where counted is inlined: calls not seen", "… and inlined")
  os.remove(program)
else
  tap.skip "there is no ld.lld here (package lld)"
end
if tap.has "rustc" then
  local program = target.folder() .. "-rust"
  is(os.execute("rustc -O -g -o " .. program .. " tests/targets/inlined.rs"), 0, "rustc")
  P = program
  local seen, _, said = count "*hot*"
  is(total(seen), 23, "… a function is called")
  like(said, "\n  1 × [^\n]-: place where inlined::parts::hot is inlined: calls not seen", "… and inlined")
  os.remove(program)
else
  tap.skip "there is no rustc here (package rustc)"
end

target.done()
tap.done_testing()
