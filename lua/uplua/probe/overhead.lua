-- The time that the probes of a function take between its entry and its return, which e.elapsed is net of: measured at
-- the start, and now and then again.
local core = require "uplua.core"
local loop = require "uplua.base.loop"
local run  = require "uplua.base.run"

local overhead = {}

local PERIOD = "1s"

local own = run.part(function()
  return {
    counters = {},   -- of the handlers that want to know
    asked = false,   -- there are such
    timer = nil,
  }
end)

-- What measures is the process's (src/probe/attach/cost.c), as long as a run needs it: such runs' parts, as keys.
local links, users = {}, {}

-- To be called before handlers are loaded: what an earlier run has measured by probes that are detached does not count.
function overhead.begin()
  if not next(users) then core.cost.forget() end
end

-- Measures anew, since what else the machine does makes a difference, and tells the handlers.
local function again() core.cost.again(unpack(own().counters)) end

-- Keeps what was measured by, LINK, for handlers that want to know and have it in COUNTERS (loaded:address). UNKNOWN:
-- why it could not be measured, or nil.
function overhead.keep(address, link, unknown)
  local mine = own()
  mine.counters[#mine.counters + 1], links[#links + 1] = address, link
  mine.asked, users[mine] = true, true
  if unknown then
    loop.warn("e.elapsed includes the probes' own time, which could not be measured: " .. unknown)
  else
    mine.timer = mine.timer or loop.every(PERIOD, again)
  end
end

-- The handlers that have it in COUNTERS are gone.
function overhead.forget(address)
  local counters = own().counters
  for i = #counters, 1, -1 do
    if counters[i] == address then table.remove(counters, i) end
  end
end

-- Ends that: the links that are to be closed.
function overhead.close()
  local mine = own()
  if mine.timer then mine.timer:cancel() end
  mine.counters, mine.timer, users[mine] = {}, nil, nil
  if next(users) then return {} end
  local closed = links
  links = {}
  return closed
end

local function microseconds(ns) return ("%.1f us"):format(ns / 1000) end

-- probe_cost(): what e.elapsed of functions is net of, as a text for reports, "net of the probe's own 1.1 us (± 0.1
-- us)", and as a list of { entry = "emulated" | "stepped" | "replaced" (how the kernel gets past the function's first
-- instruction), exits = true where probes stand on return instructions, ns, low, high }: the median, and between which
-- eight of ten measurements lay. nil and the reason where no handler asks for e.elapsed of a function.
function overhead.probe_cost()
  local known = own().asked and core.cost.known() or {}
  if #known == 0 then return nil, "no handler asks for e.elapsed of a function" end
  local words = {}
  for i, one in ipairs(known) do
    local error = math.max(one.ns - one.low, one.high - one.ns, 50) -- what is shown as 0.1
    words[i] = ("%s (± %s)"):format(microseconds(one.ns), microseconds(error))
  end
  local last = table.remove(words)
  return "net of the probe's own " .. (#words > 0 and table.concat(words, ", ") .. " or " or "") .. last, known
end

return overhead
