-- Times of a run's phases on stderr, where UPLUA_TIMING is set: for `make bench`.
local core = require "uplua.core"

local timing = {}

local enabled = os.getenv "UPLUA_TIMING"

-- Says when PHASE begins: "uplua: attach 1234.567890", CLOCK_MONOTONIC in seconds.
function timing.mark(phase)
  if enabled then io.stderr:write(("uplua: %s %.6f\n"):format(phase, core.loop.now())) end
end

return timing
