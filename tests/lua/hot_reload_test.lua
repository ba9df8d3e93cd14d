-- --watch: a script that is saved again takes the place of what runs; what does not compile leaves that running.
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local STEP = "./build/targets/steps:step"

-- Runs the shell's STEPS beside uplua, which watches $D/x.lua on tests/targets/steps. In them
--   tell LINE     has the target do what the line says; its answer is in $answer
--   save NAME     puts $D/NAME.lua into the place of x.lua, as editors do, and waits until uplua has said so
--   spoil TEXT    the same with TEXT, which it refuses
local function run(scripts, steps)
  local files = {}
  for name, text in pairs(scripts) do
    files[#files + 1] = ("cat >\"$D/%s.lua\" <<'END'\n%s\nEND\n"):format(name, text)
  end
  return target.shell(([=[
    %s
    cp "$D/x.lua" "$D/first.lua"
    mkfifo "$D/to" "$D/from"
    ./uplua --watch "$D/x.lua" -- ./build/targets/steps "$D/to" "$D/from" >"$D/out" 2>"$D/err" &
    uplua=$!
    exec 8<>"$D/to" 9<>"$D/from" # which wait for nobody to open them, too
    tell() { echo "$1" >&8; await 'read -t 0 <&9' $uplua; read answer <&9; }
    said=0
    heard() { # waits for one line more that says what became of a change
        said=$((said + 1))
        await '[ "$(grep -c "x.lua: .* in the place of\|as it was before goes on" "$D/err")" -ge $said ]' $uplua
    }
    save() { cp "$D/$1.lua" "$D/.new" && mv "$D/.new" "$D/x.lua"; heard; }
    spoil() { printf '%%s\n' "$1" >"$D/x.lua"; heard; }
    tell 0
    %s
    exec 8>&-
    wait
  ]=]):format(table.concat(files), steps))
end

-- The microseconds in which a run's handlers saw nothing while they changed places, as it says itself; 0 if it says
-- nothing of it. That is where something came between two stores.
local GAP = "  %d+ × a script's handlers took the place of its old ones: " ..
            "for ([%d.]+) (%S+) in all, hits were seen by none of both\n"
local function gap(err)
  local number, unit = err:match(GAP)
  return number and tonumber(number) * assert(({ us = 1, ms = 1e3, s = 1e6 })[unit], unit) or 0
end

-- What a run says of itself, without the lines of each change, and without such a gap.
local function told(err)
  local rest = err:gsub("uplua: x%.lua: [^\n]* in the place of %d+\n", ""):gsub(GAP, "")
  return (rest:gsub("uplua: .-\n  %S+ as it was before goes on\n", ""))
end

local REPLACED = "^uplua: not everything was seen:\n  %d+ × uprobe %S+: handler replaced: [^\n]*\n$"

local function counts(more)
  return ([[
local up = require "uplua"
local n, sizes, last = up.count(), up.hash(), up.var(5)
up.uprobe("%s", function(e) n:inc() sizes[e.arg0] = (sizes[e.arg0] or 0) + 1 end)
up.at_exit(function() print("%s", n:get(), sizes[0], last:get()) end)
%s]]):format(STEP, more, "")
end

-- While the target waits: exact. Of 23 changes 5 are none.
local steps = {}
for i = 1, 23 do
  local bad = i % 5 == 0 and ({
    "x =", "local up = require 'uplua' up.uprobe('libc:maloc', function() end)", "error 'no'",
    "local up = require 'uplua' up.uprobe('" .. STEP .. "', function(e) e.comm() end)",
  })[i / 5] or i == 23 and "y ="
  steps[#steps + 1] = bad and ('spoil "%s"'):format(bad) or ("save %s"):format(i % 2 == 0 and "first" or "second")
  steps[#steps + 1] = "tell 101"
end
local got = run({ x = counts "one", second = counts "two" }, table.concat(steps, "\n"))
is(got.out, ("one\t%d\t%d\t5\n"):format(23 * 101, 23 * 101),
   "23 changes, each hit is counted once, and the maps keep what they hold")
like(told(got.err), REPLACED, "the ledger says how often handlers were replaced")
local _, refused = got.err:gsub("as it was before goes on", "")
is(refused, 5, "what does not compile is said, and leaves the rest as it was")
like(got.err, "uplua: %S+x.lua:2: unexpected symbol near '<eof>'\n  %S+x.lua as it was before goes on\n",
     "… with its reason")
like(got.err, "did you mean malloc", "… a probe that is not there")

-- Saved as a shell does it, which empties the file first; and one that stays empty is no version.
steps = {}
for i = 1, 5 do
  steps[#steps + 1] = ('tell 101\n: >"$D/x.lua"\nsleep 0.03\ncat "$D/%s.lua" >"$D/x.lua"\nheard')
    :format(i % 2 == 0 and "first" or "second")
end
steps[#steps + 1] = [[tell 101
: >"$D/x.lua"
await 'grep -q "x.lua is empty" "$D/err"' $uplua
tell 101]]
got = run({ x = counts "one", second = counts "two" }, table.concat(steps, "\n"))
is(got.out, ("two\t%d\t%d\t5\n"):format(7 * 101, 7 * 101), "a file that is empty for a moment loses no count")
is(select(2, got.err:gsub("uplua: x%.lua: 1 probe in the place of 1\n", "")), 5, "… and each version is taken once")
like(got.err, "uplua: %S+x.lua is empty\n  what it was goes on; what is saved there takes its place\n",
     "one that stays empty is told")

-- Under load: all threads' calls are counted, but for one on each CPU and change, and for those in a gap that the
-- ledger has: of these one in a microsecond at most, since each takes a trap.
steps = { "tell run" }
for i = 1, 23 do
  local bad = i % 5 == 0 or i == 22
  steps[#steps + 1] = bad and 'spoil "x ="' or ("save %s"):format(i % 2 == 0 and "first" or "second")
end
steps[#steps + 1] = 'tell stop\necho "total $answer"'
got = run({ x = counts "one", second = counts "two" }, table.concat(steps, "\n"))
local total = tonumber(got.noise:match "total (%d+)") or 0
local counted = tonumber(got.out:match "^%a+\t(%d+)\t%S+\t5\n$") or -1
local cpus = select(2, io.open "/proc/cpuinfo":read "*a":gsub("processor%s*:", ""))
ok(total > 1000 and math.abs(total - counted) <= cpus * (18 + gap(got.err)),
   ("under load %d of %d calls are counted, but for %.1f us"):format(counted, total, gap(got.err)))
is(select(2, got.err:gsub("x%.lua:2: unexpected symbol near '<eof>'\n  %S+ as it was before goes on\n", "")), 5,
   "… and each of 5 versions that do not compile is refused")
is(select(2, got.err:gsub("uplua: x%.lua: 1 probe in the place of 1\n", "")), 18, "… the 18 others are not")

-- What ends with a version: timers, callbacks, rings, variables. What does not: the maps whose names stay.
local VERSION = [[
local up = require "uplua"
kept = up.count()
local %s, ring, seen = up.sum(), up.ring(), 0
up.uprobe("%s", function(e)
  kept:inc() %s:add(2)
  ring:emit { i = e.arg1 }
end)
ring:each(function() seen = seen + 1 end)
up.every("10ms", function() end)
up.at_exit(function() print("%s", kept:get(), %s:get(), seen) end)
]]
got = run({ x = VERSION:format("before", STEP, "before", "one", "before"),
            second = VERSION:format("after", STEP, "after", "two", "after") }, [[
    tell 23
    save second
    tell 101]])
is(got.out, "two\t124\t202\t101\n",
   "the last version reports, with its own variables, and a global map of the same name")

-- Maps that cannot go on: of another kind, with other options, with other types.
local function keyed(declared, key)
  return ([[
local up = require "uplua"
local m = %s
up.uprobe("%s", function(e) m[%s]:%s end)
up.at_exit(function() local all = 0 for _, v in m:pairs() do all = all + tonumber(v) end print(all) end)
]]):format(declared, STEP, key, declared:find "sum" and "add(1)" or "inc()")
end
for _, case in ipairs {
  { "up.count()", "e.arg0", 124, "equal" }, { "up.sum()", "e.arg0", 101, "another kind" },
  { "up.count { max = 50 }", "e.arg0", 101, "another size" }, { "up.count()", "e.comm", 101, "another type of key" },
} do
  got = run({ x = keyed("up.count()", "e.arg0"), second = keyed(case[1], case[2]) }, "tell 23\nsave second\ntell 101")
  is(got.out, case[3] .. "\n", case[4])
  if case[2] == "e.comm" then
    like(got.err, "its maps begin anew: %S+x.lua:3: the key of 'm' is a string here", "… which is said")
  end
end

-- Maps by their option `name`, whatever holds them; and the locals of a main chunk that ends in a call.
local function named(held, rest)
  return ([[
local up = require "uplua"
%s
up.uprobe("%s", function(e) %s:add(1) end)
local function main() up.at_exit(function() print(%s:get()) end) end
%s]]):format(held[1], STEP, held[2], held[2], rest or "main()")
end
local FIRST = { 'local n = up.sum { name = "calls" }', "n" }
for _, case in ipairs {
  { FIRST, { 'local function make() return up.sum { name = "calls" } end local t = make()', "t" }, 124, "by name =" },
  { FIRST, { 'calls = up.sum() local t = calls', "t" }, 124, "a variable of that name", "main()" },
  { FIRST, { 'local n = up.sum()', "n" }, 101, "no more of the variable's name" },
  { FIRST, { 'local n = up.sum { name = "other" }', "n" }, 101, "another name" },
  { { "local n = up.sum()", "n" }, { "local n = up.sum()", "n" }, 124, "main() in the end", "return main()" },
  { { "local n = up.sum()", "n" }, { "local n = up.sum()", "n" }, 124, "… with an argument", "return print(main())" },
  { { "local n = up.hdr(1)", "n" }, { "local n = up.hdr(2)", "n" }, 101, "other digits" },
  { { "local n = up.lhist(0, 9, 1)", "n" }, { "local n = up.lhist(0, 9, 1)", "n" }, 124, "equal steps" },
  { { "local n = up.lhist(0, 9, 1)", "n" }, { "local n = up.lhist(0, 9, 3)", "n" }, 101, "other steps" },
} do
  local x, second = named(case[1], case[5]), named(case[2], case[5])
  local counted = case[1][1]:find "up.[hl]" and "(%d+) values" or "(%d+)\n$"
  if counted:find "values" then
    x, second = x:gsub("n:get%(%)", 'n.count, "values"'), second:gsub("n:get%(%)", 'n.count, "values"')
    counted = "(%d+)\tvalues"
  end
  got = run({ x = x, second = second }, "tell 23\nsave second\ntell 101")
  is(tonumber(got.out:match(counted)), case[3], case[4])
  local anew = got.err:find "; n is declared differently, and begins anew\n" or got.err:find "; there is no %l+ any"
  is(anew ~= nil, case[3] == 101, "… which is said only where the map begins anew")
end

-- A version that is saved while the one before still declares its probes.
got = run({ x = [[os.execute('cp "$D/second.lua" "$D/.new" && mv "$D/.new" "$D/x.lua"')]] .. "\n" .. counts "one",
            second = counts "two" }, "heard\ntell 101")
is(got.out, "two\t101\t101\t5\n", "a version that is saved before the first is attached is not missed")

-- A file that is removed, and saved again later.
got = run({ x = counts "one", second = counts "two" }, [[
  rm "$D/x.lua"
  await 'grep -q "not there any more" "$D/err"' $uplua
  tell 23
  save second
  tell 101]])
is(got.out, "two\t124\t124\t5\n", "what it was goes on, and then the new one with its maps")
like(got.err, "^uplua: %S+/x%.lua is not there any more\n" ..
  "  what it was goes on; what is saved there takes its place\n" ..
  "uplua: x%.lua: [^\n]* in the place of ", "which is said, once")

-- A folder that is renamed, and made anew.
got = target.shell([[
  mkdir "$D/a"
  mkfifo "$D/to" "$D/from"
  for n in one two three; do printf '%s\n' 'require "uplua".at_exit(function() print "'$n'" end)' \
      'require "uplua".uprobe("]] .. STEP .. [[", function() end)' >"$D/$n"; done
  cp "$D/one" "$D/a/x.lua"
  ./uplua --watch "$D/a/x.lua" -- ./build/targets/steps "$D/to" "$D/from" >"$D/out" 2>"$D/err" &
  uplua=$!
  exec 8<>"$D/to" 9<>"$D/from"
  heard() { said=$1; await '[ "$(grep -c "in the place of" "$D/err")" -ge $said ]' $uplua; }
  echo 0 >&8
  await 'read -t 0 <&9' $uplua
  mv "$D/a" "$D/b"
  mkdir "$D/a"
  mv "$D/two" "$D/a/x.lua" # at once: uplua may look at any time
  heard 1
  mv "$D/three" "$D/a/x.lua"
  heard 2
  exec 8>&-
  wait
  rm -r "$D/a" "$D/b"]])
is(got.out, "three\n", "a folder that is renamed and made anew is watched again")

-- A file that becomes a link to another, and is one no more: each takes the place of the one before.
got = run({ x = counts "one", second = counts "two" }, [[
  tell 23
  ln -sfn second.lua "$D/x.lua"
  heard
  tell 101
  save first
  tell 101]])
is(got.out, "one\t225\t225\t5\n", "a file that becomes a link to another")
like(told(got.err), REPLACED, "… which is said")

-- Links that lead elsewhere: the script's, its folder's, and one on the way of that; relative ones and others. Then the
-- file is saved that all of them lead to.
local LINKED = [[
local up = require "uplua"
n = up.count()
up.uprobe("]] .. STEP .. [[", function(e) n:inc() end)
up.at_exit(function() print("%s", n:get()) end)]]
local made = {}
for _, name in ipairs { "one", "two", "three", "four", "five" } do
  made[#made + 1] = ("cat >\"$D/f/%s.lua\" <<'END'\n%s\nEND\n"):format(name, LINKED:format(name))
end
got = target.shell([[
  mkdir "$D/f" "$D/a" "$D/b"
  mkfifo "$D/to" "$D/from"
  ]] .. table.concat(made) .. [[
  ln -s ../f/one.lua "$D/a/x.lua"
  ln -s "$D/f/three.lua" "$D/b/x.lua"
  ln -s a "$D/here"
  ln -s "$D/here/../here" "$D/way"
  ./uplua --watch "$D/way/x.lua" -- ./build/targets/steps "$D/to" "$D/from" >"$D/out" 2>"$D/err" &
  uplua=$!
  exec 8<>"$D/to" 9<>"$D/from"
  tell() { echo "$1" >&8; await 'read -t 0 <&9' $uplua; read answer <&9; }
  heard() { said=$1; await '[ "$(grep -c "x.lua: .* in the place of" "$D/err")" -ge $said ]' $uplua; }
  tell 0
  tell 1
  ln -sfn ../f/two.lua "$D/a/x.lua"
  heard 1
  tell 10
  ln -sfn b "$D/here"
  heard 2
  tell 100
  rm "$D/b/x.lua"
  ln -s ../f/four.lua "$D/b/x.lua"
  heard 3
  tell 1000
  cat "$D/f/five.lua" >"$D/f/four.lua"
  heard 4
  tell 10000
  rm "$D/way"
  await 'grep -q "way/x.lua is not there any more" "$D/err"' $uplua
  ln -s "$D/a" "$D/way"
  heard 5
  tell 100000
  exec 8>&-
  wait
  rm -r "$D/a" "$D/b" "$D/f"]])
is(got.out, "two\t111111\n", "links that lead elsewhere: each version once, and each hit")
is(select(2, got.err:gsub("uplua: x%.lua: 1 probe in the place of 1\n", "")), 5, "… which is said")

-- Maps that a main chunk holds nowhere but in LuaJIT's own temporary values have no names.
got = run({ x = [[
up = require "uplua"
n = up.count()
m = up.count()
up.uprobe("]] .. STEP .. [[", function(e) n:inc() m:inc() end)]],
  second = counts "two" }, "tell 23\nsave second\ntell 101")
is(got.out, "two\t124\t101\t5\n", "a global map that becomes a local one")
like(got.err, "^uplua: x%.lua: 1 probe in the place of 1; there is no m any more\n", "… and one that is there no more")

-- Two maps of one name, and a command line that has no file to watch.
got = target.shell([[
  printf '%s\n' 'local up = require "uplua"' 'local m = up.count()' 'local m = up.sum()' >"$D/two.lua"
  ./uplua --watch "$D/two.lua" -- true >"$D/out" 2>"$D/err"; echo $? >>"$D/out"]])
is(got.out .. got.err,
   "1\nuplua: --watch: two maps are called 'm': by its name a map keeps what it holds; rename one\n",
   "two maps of one name are refused")
got = target.shell([[
  printf '%s\n' 'local up = require "uplua"' 'local m = up.count { name = "n" }' 'n = up.sum()' >"$D/two.lua"
  ./uplua --watch "$D/two.lua" -- true >"$D/out" 2>"$D/err"; echo $? >>"$D/out"]])
is(got.out .. got.err,
   "1\nuplua: --watch: two maps are called 'n': by its name a map keeps what it holds; rename one\n",
   "… also of a variable's and an option's")
for _, line in ipairs { "-e 'x = 1'", "-", "--explain scripts/top.lua", "" } do
  got = target.uplua("--watch " .. line .. " </dev/null")
  is(got.status, 2, "--watch " .. line)
end

target.done()
tap.done_testing()
