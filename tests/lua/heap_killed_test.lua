-- Whatever uplua does for a proof, the target goes on when uplua is killed: with its threads stopped, between two
-- stops, while passes run beside it, at its start. With UPLUA_LONG in the environment 101 times, else 7.
local reach  = require "reach"
local tap    = require "tap"
local target = require "target"

local times = os.getenv "UPLUA_LONG" and 101 or 7

local r = target.shell(([[
  mkfifo "$D/in"
  build/targets/reach list 3 100000 <"$D/in" >"$D/target" &
  program=$!
  exec 7>"$D/in"
  until_said ready
  printf x >&7
  until_said lost
  stopped() { grep -q '^TracerPid:.*[1-9]' /proc/$program/status; }
  for i in $(seq %d); do
    : >"$D/err" # before uplua starts: the line of the last one would be taken for its own
    case $((i %% 4)) in 0) how=--prove ;; *) how=--stop=20s ;; esac
    ./uplua mallocleak.lua $how 50ms -- $program >"$D/noise" 2>"$D/err" 7>&- &
    uplua=$!
    until_traces_or_ends
    case $((i %% 4)) in
      1 | 2) await stopped $uplua $program && echo caught >>"$D/out" ;; # which it is from time to time
      3) await '[ -s "$D/noise" ]' $uplua $program ;; # there is a report
    esac
    kill -KILL $uplua
    wait $uplua 2>/dev/null
    await '! stopped && ! grep -q "^State:.*[tT] (" /proc/$program/task/*/status' $program
  done
  printf x >&7
  wait $program
]]):format(times))
local truth = reach.truth(r)
tap.is(r.status, 0, "the program goes on each time, and has all that it uses")
tap.is(truth.used, truth.kept, "it has used all")
tap.ok(truth.kept >= 100000, "which are many")
tap.is(select(2, r.out:gsub("caught", "")), times - math.floor(times / 4) - math.floor((times + 1) / 4),
  "uplua was killed while it was stopped")
target.done()
tap.done_testing()
