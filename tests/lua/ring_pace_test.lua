-- When rings are read: at once where they were quiet, then after their delay, earlier where they fill up; and no record
-- is left behind, whatever comes after it.
local loop    = require "uplua.base.loop"
local setup   = require "uplua.probe.setup"
local tap     = require "tap"
local target  = require "target"
local testrun = require "uplua.probe.providers.testrun"
local up      = require "uplua"
local is, like, ok = tap.is, tap.like, tap.ok

local PATIENCE = 30 -- seconds, on a busy machine

-- A ring that was made with OPTIONS, of which each number is told to its state { seen =, wrong = }: they come in order.
local function watched(options)
  local ring, state = up.ring(options), { seen = 0, wrong = 0 }
  ring:each(function(ev)
    state.seen = state.seen + 1
    if ev.n ~= state.seen then state.wrong = state.wrong + 1 end
  end)
  return ring, state
end

-- Lets the loop turn for SECONDS; returns how often it woke up.
local function turn(seconds)
  local stop, turns = loop.now() + seconds, 0
  while loop.now() < stop do
    loop.step(stop - loop.now())
    turns = turns + 1
  end
  return turns
end

-- Lets it turn until STATE has seen COUNT records, or for too long.
local function await(state, count)
  local stop = loop.now() + PATIENCE
  while state.seen < count and loop.now() < stop do loop.step(stop - loop.now()) end
  return state.seen
end

local D = target.folder()
local usual, by_usual   = watched()
local prompt, by_prompt = watched { delay = 0 }
local slow, by_slow     = watched { size = "4K", delay = "1h" }
local polled            = up.ring { delay = "20ms" }
local calls, by_calls   = up.ring(), { seen = 0, wrong = 0, of = { [0] = 0, 0, 0 } }

-- Each emits as many records as it is told, their numbers going on from the second word.
local to_usual  = testrun.handler("usual", function(e) for i = 1, e.arg0 do usual:emit { n = e.arg1 + i } end end)
local to_prompt = testrun.handler("prompt", function(e) for i = 1, e.arg0 do prompt:emit { n = e.arg1 + i } end end)
local to_slow   = testrun.handler("slow", function(e) for i = 1, e.arg0 do slow:emit { n = e.arg1 + i } end end)
local to_polled = testrun.handler("polled", function(e) for i = 1, e.arg0 do polled:emit { n = e.arg1 + i } end end)
os.execute("cp build/targets/steps " .. D) -- the same test may run at this moment, on a kernel that is @older
local probe = up.uprobe(D .. "/steps:step", function(e) calls:emit { thread = e.arg0, i = e.arg1 } end)
setup.commit()

-- One record and then nothing, and more with pauses.
local sent = 0
for round = 1, 23 do
  for _, count in ipairs { 1, 23, 101 } do
    to_usual { count, sent }
    to_prompt { count, sent }
    sent = sent + count
    if await(by_usual, sent) ~= sent or await(by_prompt, sent) ~= sent then ok(false, "round " .. round) end
    if round % 5 == 0 then turn(0.007) end
  end
end
is(by_usual.seen, 23 * 125, "every record comes, with nothing behind it that would push it on")
is(by_prompt.seen, 23 * 125, "also where each is read at once")
is(by_usual.wrong + by_prompt.wrong, 0, "in order")
ok(turn(0.5) < 5, "a ring that is quiet wakes nobody")

-- A quiet ring is read at once, and then only after its delay, or when an eighth of it is full: of 24 bytes a record.
to_slow { 1, 0 }
is(await(by_slow, 1), 1, "the first record comes at once")
to_slow { 20, 1 }
turn(0.05)
is(by_slow.seen, 1, "what follows waits")
to_slow { 2, 21 }
is(await(by_slow, 23), 23, "until there is enough of it")
to_slow { 1001, 23 } -- 170 × 24 = 4080
loop.step(PATIENCE)
is(by_slow.seen, 23 + 22, "a full ring is read at once, an eighth in a turn of the loop")
to_slow { 22, 23 + 170 }
is(await(by_slow, 23 + 8 * 22), 23 + 8 * 22, "which makes room for more; less than an eighth waits")
to_slow { 1, 23 + 170 + 22 }
turn(0.01)
require("uplua.objects.ring").drain()
is(by_slow.seen, 23 + 170 + 23, "at the end nothing waits")
is(by_slow.wrong, 0, "in order")
local lost = setup.ledger()
is(#lost, 1, "what the full ring did not take is counted")
is(lost[1][2], 1001 - 170, "exactly")
like(lost[1][1], "^the ring 'slow' is full %(size = 4096%): event lost; give it a larger size, ", "as such")

-- A callback that raises an error ends the reading, without the records behind; another each() goes on.
local messages, first = {}, nil
loop.hook { failed = function(message) messages[#messages + 1] = message end }
usual:each(function(ev)
  first = first or ev.n
  error "no more"
end)
to_usual { 23, sent }
local stop = loop.now() + PATIENCE
while #messages == 0 and loop.now() < stop do loop.step(stop - loop.now()) end
turn(0.05)
is(#messages, 1, "an error in the callback comes once")
to_usual { 1, sent + 23 }
turn(0.05)
is(#messages .. " " .. tostring(first), "1 " .. sent + 1, "that record is done with, and no other is read")
by_usual.seen = sent + 1
usual:each(function(ev)
  by_usual.seen = by_usual.seen + 1
  if ev.n ~= by_usual.seen then by_usual.wrong = by_usual.wrong + 1 end
end)
is(await(by_usual, sent + 24), sent + 24, "another function is called with the rest")
is(by_usual.wrong, 0, "in order")

-- poll waits for the first record, and then as long as the ring's delay.
local got = {}
local function keep(ev) got[#got + 1] = ev.n end
local began = loop.now()
is(polled:poll("23ms", keep), 0, "a poll of an empty ring")
ok(loop.now() - began >= 0.023, "takes its time")
began = loop.now()
to_polled { 1, 0 }
is(polled:poll("30s", keep), 1, "the first record comes alone")
to_polled { 22, 1 }
is(polled:poll("30s", keep), 22, "later ones")
ok(loop.now() - began >= 0.02, "are read when the delay is over")
to_polled { 78, 23 }
is(polled:poll(0, keep), 78, "a poll that is not to wait takes what there is")
is(#got == 101 and got[101], 101, "each record once")

-- Another process emits while this one reads.
os.execute(("mkfifo %s/to %s/from; %s/steps %s/to %s/from &"):format(D, D, D, D, D))
local to, from = io.open(D .. "/to", "w"), io.open(D .. "/from")
calls:each(function(ev)
  by_calls.seen = by_calls.seen + 1
  local next_of = by_calls.of
  if ev.i ~= next_of[ev.thread] then by_calls.wrong = by_calls.wrong + 1 end
  next_of[ev.thread] = ev.i + 1
end)
sent = 0
for _ = 1, tap.fewer(1009, 101) do
  by_calls.of[0] = 0
  to:write "23\n"
  to:flush()
  sent = sent + 23
  if await(by_calls, sent) ~= sent then break end
  from:read "*l"
end
is(by_calls.seen, sent, "no record is left behind in many rounds of 23")
is(by_calls.wrong, 0, "in order")
local turns, took = 0, 0
for _ = 1, 11 do
  by_calls.of[1], by_calls.of[2] = 0, 0
  to:write "run\n"
  to:flush()
  from:read "*l"
  took = took - loop.now()
  turns = turns + turn(0.101)
  took = took + loop.now()
  to:write "stop\n"
  to:flush()
  sent = sent + tonumber((from:read "*l"))
  if await(by_calls, sent) ~= sent then break end
end
is(by_calls.seen, sent, "nor of two threads that call as fast as they can")
is(by_calls.wrong, 0, "each thread's in order")
ok(turns < 23 + 3 * took / 0.002, "which does not wake the reader at each: it woke up " .. turns .. " times")
by_calls.of[0] = 0
to:write "101\n"
to:flush()
from:read "*l"
probe:detach()
is(await(by_calls, sent + 101), sent + 101, "a probe that is detached leaves its records")
to:close()
is(#setup.ledger(), 1, "nothing else is lost")
setup.close()

-- The end of a run, whatever its reason, hands out what is still in the ring.
local CALLS = [[
  local up = require "uplua"
  local r, seen, ordered = up.ring { delay = "1h" }, 0, true
  up.uprobe("./build/targets/steps:step", function(e)
    r:emit { i = e.arg1 }
    if e.arg1 == 22 then up.printf("the last\n") %s end
  end)
  r:each(function(ev)
    ordered = ordered and ev.i == seen
    seen = seen + 1
  end)
  up.at_exit(function() print(seen, ordered) end)]]
local STEPS = [[
  mkfifo "$D/to" "$D/from"
  cat >"$D/script.lua" <<'END'
%s
END
  %s
]]
local AS_COMMAND = [[
  ./uplua "$D/script.lua" -- ./build/targets/steps "$D/to" "$D/from" >"$D/out" 2>"$D/err" &
  exec 7>"$D/to" 8<"$D/from"
  echo 23 >&7; read -r answer <&8; %s
  wait $!]]
for _, case in ipairs {
  { "the target's end", "", "exec 7>&-" },
  { "Ctrl-C", "", "kill -INT $!; exec 7>&-" },
  { "exit in a handler", "up.exit(0)", ":" },
} do
  local run = target.shell(STEPS:format(CALLS:format(case[2]), AS_COMMAND:format(case[3])))
  is(run.status .. " " .. run.out .. run.err, "0 the last\n23\ttrue\n", case[1] .. ": all is delivered, in order")
end
target.done()
tap.done_testing()
