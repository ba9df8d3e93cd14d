-- Probes that callbacks declare are attached like those of the main chunk, before the callback's turn is over.
local tap    = require "tap"
local target = require "target"

local CALLS, ADD = "./build/targets/calls", '"./build/targets/calls:add3"'

-- The calls are made once the turn of the callback with the DECLARATION, which sets `declared`, is over: other timers
-- that are due belong to the same turn.
local function counted(declaration)
  local script = ([[n = count() %s at_exit(function() print(n:get()) end)
    every("10ms", function()
      if later then io.open(os.getenv "D" .. "/go", "w"):close() end
      declared, later = false, declared
    end)]]):format(declaration)
  local run = target.shell(([[
    mkfifo "$D/go"
    ./uplua --follow -e %s -- sh -c 'sleep 0.01; : <"$D/go"; exec %s >/dev/null' >$D/out 2>$D/err]])
    :format(target.quote(script), CALLS))
  tap.is(run.err, "", "nothing is lost")
  return run.out
end

local PROBE = ("uprobe(%s, function(e) n:inc() end) declared = true"):format(ADD)
tap.is(counted(("at_start(function() %s end)"):format(PROBE)), "23\n", "in at_start")
tap.is(counted(('after("10ms", function() %s end)'):format(PROBE)), "23\n", "in after")
tap.is(counted(([[local r, once = ring(), false
  syscall("nanosleep", function(e) r:emit { at = e.time } end)
  syscall("clock_nanosleep", function(e) r:emit { at = e.time } end)
  r:each(function() if not once then once = true %s end end)]]):format(PROBE)), "23\n", "in a ring's callback")
tap.is(counted(('uprobe(%s, function(e) n:inc() end) after("10ms", function() %s end)'):format(ADD, PROBE)), "46\n",
  "beside one of the main chunk")

local run = target.uplua([[-e 'after("10ms", function() uprobe("./build/targets/calls:no_such", function(e) end) end)
  after("200ms", exit)']])
tap.is(run.status, 1, "one that cannot be")
tap.like(run.err, "uprobe ./build/targets/calls:no_such: no such function in ", "is refused")
target.done()
tap.done_testing()
