-- The pace of a ring: when it is read. The kernel wakes its reader for a record that the reader has caught up with:
-- where that reads at once, for nearly each, and each wake-up costs the handler 1 to 3 us. So a ring is read at once
-- where it has been quiet for a while, and then only after its delay. What comes meanwhile wakes nobody: only the first
-- record of each part (RING_PARTS) does, so that the ring is read in time where it fills faster.
local contract = require "uplua.contract"
local core     = require "uplua.core".loop
local loop     = require "uplua.base.loop"

local C = contract.C
local PARTS = contract.RING_PARTS

local pace = {
  DELAY = 2e6, -- ns, where the script does not say
}

-- The state of a ring that nobody has read by now: FIELDS, and DELAY (ns; 0: it is read at each record).
function pace.state(delay, fields)
  fields.at, fields.start, fields.begin, fields.unknown = 0, 0, 0ULL, 0 -- uplua.objects.ring's
  fields.delay, fields.last = delay / 1e9, -math.huge -- when it was read last, in seconds
  return fields
end

-- The time when the ring of the state S is to be read; nil: nothing is there.
local function due(s)
  local filled = C.ring_filled(s.ring)
  if filled == 0 then return nil end
  return filled < s.size / PARTS and s.last + s.delay or 0
end

-- Has S read in time.
local function attend(s)
  local at = due(s)
  if not at then return end
  if s.timer then
    s.timer.at = math.min(s.timer.at, at)
    return
  end
  s.timer = loop.at(at, function()
    s.timer = nil
    if s.read() then attend(s) end -- a record that is still being written wakes the reader when it is complete
  end)
end

-- Calls read() from now on when S is to be read; it returns true if it has found records.
function pace.watch(s, read)
  s.read = read
  if s.delay == 0 then
    loop.watch(s.fd, read)
  else
    loop.watch(s.fd, function() attend(s) end, true)
    attend(s) -- what is there by now
  end
end

local ready = {}

-- Waits until S is to be read, at the longest until the time DEADLINE.
function pace.wait(s, deadline)
  while true do
    local now = core.now()
    local at = math.min(due(s) or deadline, deadline)
    if at <= now then return end
    if not s.waiter then
      s.waiter = core.new()
      s.waiter:add(s.fd, true)
    end
    for i = 1, s.waiter:wait(ready, at - now) do
      if ready[i] ~= s.fd then return end -- a signal asks to stop
    end
  end
end

return pace
