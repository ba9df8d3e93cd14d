-- What counting for p.hits adds to a hit: a handler does the same addition 1,000 times, another one only goes round.
--   ./uplua tests/bench/hits.lua
local testrun = require "uplua.probe.providers.testrun"
local up      = require "uplua"

local ROUNDS, RUNS = 7, 2000

local n, turns = up.count(), up.var(0)
local adding = testrun.handler("adding", function()
  for _ = 1, 1000 do
    n:inc()
    turns:set(1)
  end
end)
local turning = testrun.handler("turning", function()
  for _ = 1, 1000 do turns:set(1) end
end)

-- The CPU time of one round of a handler's loop, in ns.
local function measure(run)
  local began = os.clock()
  for _ = 1, RUNS do run {} end
  return (os.clock() - began) * 1e9 / RUNS / 1000
end

up.after(0, function()
  local costs = {}
  for i = 1, ROUNDS do
    local empty = measure(turning)
    costs[i] = measure(adding) - empty
  end
  table.sort(costs)
  up.printf("counting a hit: %.1f ns (median of %d; %.1f to %.1f), goal 8 ns\n", costs[(ROUNDS + 1) / 2], ROUNDS,
            costs[1], costs[ROUNDS])
  assert(n:get() == 1000 * RUNS * ROUNDS)
  up.exit()
end)
