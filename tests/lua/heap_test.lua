-- uplua.heap and mallocleak.lua --prove: what is called lost is what the program has lost, and nothing of what it uses
-- afterwards, whether or not it is stopped: tests/targets/reach.c, which knows.
-- Runs once: its probes are mallocleak_test's.
local estimate = require "uplua.heap.estimate"
local reach    = require "reach"
local tap      = require "tap"
local target   = require "target"
local ok, is, like = tap.ok, tap.is, tap.like

local proven = reach.proven

local function run(shape, movers, options)
  local r = reach.run(shape, movers, options)
  return r, reach.truth(r)
end

-- The report is right, and the program has all that it uses.
local function is_exact(shape, movers, options, what)
  local r, truth = run(shape, movers, options)
  is(r.uplua_status, 0, what .. ": exit status")
  is(proven(r), truth.lost, what .. ": proven is what is lost")
  is(r.status, 0, what .. ": the program goes on, and has all that it uses")
  is(truth.used, truth.kept, what .. ": it has used all")
  is((r.err:gsub("mallocleak: tracing[^\n]*\n", "")), "", what .. ": nothing was lost")
  return r
end

-- The target gets as long as a busy machine needs.
local STOPPED = "--stop=20s"
local SHAPES = tap.fewer({ "list", "tree", "cache", "tags", "packed", "kernel", "shared", "sparse", "thread_local",
  "sleeping", "registers" }, { "cache", "sleeping" })

for i, shape in ipairs(SHAPES) do
  local stopped = i % 2 == 1
  local r = is_exact(shape, 0, stopped and STOPPED or "--prove", shape .. (stopped and ", stopped" or ""))
  like(r.out, stopped and "it was stopped for %S+ %a+, and no pointer to what is lost was left"
    or "unreachable in %d+ of %d+ passes, fewer than 0.01 blocks of them wrongly", shape .. ": how it is known")
end

-- Pointers in memory that is free keep nothing, where it is known to be; while the program runs nobody knows.
is_exact("freed", 0, STOPPED, "freed, stopped")
is_exact("freed", 3, STOPPED, "freed, stopped under load")
do
  local r, truth = run("freed", 0, "--prove")
  ok(tonumber(proven(r):match "^%d+" or 0) < tonumber(truth.lost:match "^%d+"), "freed: less is proven while it runs")
  like(r.out, "\n     kept by other memory of the heap, which may be free %(%-%-stop tells%): ", "freed: which is said")
end

-- While threads allocate, free and move pointers all the time.
is_exact("cycle", 3, STOPPED, "under load, stopped")
is_exact("cycle", 2, "--prove", "under load")
if os.getenv "UPLUA_LONG" then
  for _, option in ipairs { "--stop=60s", "--prove=30" } do
    is_exact("list", "4 1000000", option .. " --max 1200000", "a million blocks under load, " .. option)
  end
end

-- Direct and indirect, who holds the rest, and the exit status.
do
  local r = run("cache", 0, "--fail-on-leak " .. STOPPED)
  is(r.uplua_status, 4, "a leak: exit status 4")
  like(r.out, "\n   4,968 bytes in 69 blocks lost, oldest [^\n]*\n     1,656 bytes in 23 blocks directly, "
    .. "3,312 bytes in 46 blocks that only these lead to\n"
    .. "         lose%+0x%x+ [^\n]*reach.c:%d+\n         make_cache%+",
    "what hangs below")
  -- Where the heap begins in the page in which .bss ends, as without random addresses on an emulated machine, the
  -- kernel has one mapping of both.
  local TABLE = "     kept by table %(%.bss%+0x%x+ of reach%)"
  if os.getenv "UPLUA_FEWER" then
    tap.skip "the heap and .bss are one mapping"
  else
    like(r.out, "\n   7,272 bytes in 101 blocks held\n" .. TABLE .. ": 7,272 bytes in 101 blocks\n" ..
      "         keep%+0x%x+ [^\n]*reach.c:%d+\n", "the variable that holds")
    like(r.out, "\n" .. TABLE .. " → struct node.next: 7,272 bytes in 101 blocks\n", "over a block, by its field")
  end
end

-- Without debug information a block in between is named by who has allocated it.
if not os.getenv "UPLUA_FEWER" then
  local r = target.uplua "mallocleak.lua --top 0 --prove -- build/targets/reach-plain cache exit"
  like(r.out, "\n     kept by table %(%.bss%+0x%x+ of reach%-plain%) → keep %(72 bytes%): 7,272 bytes in 101 blocks\n",
    "without debug information")
end

-- A stop that is too short lets go, says so, and proves it otherwise.
do
  local r, truth = run("list", 0, "--stop=1us")
  like(r.out, "process %d+ [^\n]*[^\n]*stop[^\n]*\n", "too short: is said")
  like(r.out, "unreachable in %d+ of %d+ passes", "too short: passes follow")
  is(proven(r), truth.lost, "too short: proven all the same")
end

-- Too few passes prove nothing.
do
  local r = run("list", 0, "--prove=2 --fail-on-leak")
  like(r.out, "not proven: unreachable in 2 of 2 passes: too few to tell", "two passes: not proven")
  is(r.uplua_status, 0, "… and so no leak")
  r = run("list", 0, "--prove=2 --fail-on-suspect")
  is(r.uplua_status, 4, "… but a suspect")
end

-- As data.
do
  local r = run("cache", 0, "--format json " .. STOPPED)
  like(r.out, '"proven": ?4968, ?"proven_blocks": ?69,[^\n]-"held": ?0', "as data: what is lost")
  like(r.out, '"held": ?7272, ?"held_blocks": ?101', "as data: what is held")
end

-- A command that ends by itself is held for the proof; so is one that another program executes, whose blocks went.
for _, command in ipairs { "build/targets/reach cache exit", "build/targets/reach freed exit",
  "env A=1 build/targets/reach list exit", "sh -c 'exec build/targets/reach tree exit'" } do
  local r = target.uplua("mallocleak.lua --top 0 --prove --fail-on-leak -- " .. command)
  r.target = r.out
  is(proven(r), reach.truth(r).lost, command .. ": proven at its own end is what is lost")
  like(r.out, "\n   it had come to its end, and no pointer to what is lost was left\n", "… as is said")
  is(r.status, 4, "… which is a leak")
  local said = r.err:gsub("mallocleak: tracing[^\n]*\n", "")
  -- On a busy machine it may allocate before uplua knows what the new program has mapped.
  if not command:find "^build" then
    said = said:gsub("^uplua: not everything was seen:\n"
      .. "  %d+ × stack incomplete: a frame's mapping was not known\n$", "")
  end
  is(said, "", "… and nothing went wrong")
end

-- … and ends as it does alone: its status, its signals.
do
  local r = target.uplua "mallocleak.lua --prove -- sh -c 'kill -USR1 $$'"
  is(r.status, 128 + 10, "a signal that ends the command")
  if tap.has "perl" then
    r = target.uplua "mallocleak.lua --prove -- perl -e '$SIG{USR1} = sub { exit 23 }; kill USR1 => $$; sleep 9'"
    is(r.status, 23, "a signal that it handles")
  end
  r = target.shell [[
    ./uplua mallocleak.lua --prove -- sh -c 'echo $$ >$D/target; kill -STOP $$; exit 24' >"$D/out" 2>"$D/err" &
    uplua=$!
    await '[ -s "$D/target" ]' $uplua
    await 'grep -q "^State:.*stop" /proc/$(cat "$D/target")/status' $uplua
    kill -CONT $(cat "$D/target")
    wait $uplua
  ]]
  is(r.status, 24, "a signal that stops it, until it goes on")
end

-- What other threads had in their registers at the end, nobody knows.
do
  local r = target.uplua "mallocleak.lua --prove --fail-on-leak -- build/targets/peak threads"
  like(r.out, "\n   not proven: it had come to its end[^\n]*\n   the registers that 3 other threads had at the end "
    .. "are not known\n", "threads that end with the process: not proven")
  is(r.status, 0, "… and no leak")
end

for _, wrong in ipairs { "--prove --sample 10", "--stop --min-size 10", "--prove=0" } do
  local r = target.uplua(("mallocleak.lua %s -- build/targets/reach"):format(wrong))
  is(r.status, 2, wrong .. ": refused")
  like(r.err, "^mallocleak.lua: .*%-%-prove", wrong .. ": with the reason")
end

-- The estimate, on what passes over a program with 16 million moves a second have found, of 2,000 that were lost.
do
  local counts = { 45851, 11704, 4188, 2500, 2107, 2021 }
  is(estimate.wrong { 5, 5 }, nil, "two passes tell nothing")
  for i = 4, #counts do
    local seen = {}
    for n = 1, i do seen[n] = counts[n] end
    local wrong, really = estimate.wrong(seen), counts[i] - 2000
    ok(wrong > really / 2 and wrong < really * 2,
      ("after %d passes %.1f are estimated, %d are wrong"):format(i, wrong, really))
  end
  local none = {}
  for i = 1, 9 do none[i] = 23 end
  ok(estimate.wrong(none) < 0.01, "nine passes that agree prove it")
  none[9] = nil
  ok(estimate.wrong(none) > 0.01, "eight do not")
  ok(estimate.wrong { 100, 60, 40, 30, 25, 25 } > 0.5, "what has just shrunk may go on to")
end

target.done()
tap.done_testing()
