-- Random handlers (tests/reference/generate.lua) leave in the kernel what the reference interpreter and LuaJIT make of
-- the same source and events; none is refused. The seeds are always the same ones, so that what fails here fails again,
-- and that a change is not blamed for what it has not done: new ground is for `make fuzz-compiler`, `make test-long`:
-- RANDOM_SEED=n begins at n instead.
package.path = "./tests/reference/?.lua;" .. package.path
local campaign = require "campaign"
local tap = require "tap"

local PROGRAMS, SHOWN = tap.fewer(500, 40), 5
local seed = tonumber(os.getenv "RANDOM_SEED" or os.getenv "UPLUA_LONG" and os.time() % 1000000 or 101)
print(("# seeds %d to %d"):format(seed, seed + PROGRAMS - 1))

local failures = {}
local verdicts = campaign(PROGRAMS, seed, function(program, result)
  failures[#failures + 1] = ("seed %d, %s: %s"):format(program.seed, result[1], result[2])
end)

for i = 1, math.min(#failures, SHOWN) do
  io.stderr:write(("# %s\n# make fuzz-compiler N=1 SEED=%s makes it small\n"):format(failures[i]:gsub("\n", "\n# "),
    failures[i]:match "%d+"))
end
tap.is(#failures, 0, "no handler is refused, and none leaves anything else than the reference and LuaJIT")
local equal, undefined, limit = verdicts.equal or 0, verdicts.undefined or 0, verdicts.limit or 0
tap.is(equal + undefined + limit, PROGRAMS, "each ran, or was told what limit it has met")
tap.ok(equal >= 0.9 * PROGRAMS,
  ("nine of ten are equal three ways: %d, and %d of no defined result, %d beyond a limit"):format(equal, undefined,
  limit))
tap.done_testing()
