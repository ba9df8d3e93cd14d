-- --budget: what the probes may take of the CPUs, all together: their programs' time, which the kernel counts, and
-- their traps, by the price that was measured on functions of uplua itself. Where it is more for a second, the dearest
-- probe is detached for a while, and the next one, until the rest is within the budget.
local core   = require "uplua.core"
local handle = require "uplua.probe.handle"
local loop   = require "uplua.base.loop"
local price  = require "uplua.probe.price"
local run    = require "uplua.base.run"
local text   = require "uplua.base.text"

local budget = {}

local PERIOD = 0.5          -- seconds between two looks
local PATIENCE = 2          -- looks in a row that find too much, before anything is detached
local FIRST, LAST = 10, 600 -- seconds that a probe is off: at first, and at most, as each time is twice the one before

local own = run.part(function()
  return {
    limit = nil, counting = nil, meter = nil,
    at = 0, above = 0,
    share = 0,    -- of a CPU, in the last period
    off = {},     -- handles that are detached → when they come back
    records = {}, -- handle → { times, seconds, wait, quiet }: how often and for how long it was off, for how long it is
                  -- next, and since when it has been on
    list = {},    -- those handles, in order
    timer = nil,
  }
end)

local function percent(share) return (share < 0.1 and "%.1f %%" or "%.0f %%"):format(share * 100) end

local function record_of(probe)
  local mine = own()
  if not mine.records[probe] then
    mine.records[probe] = { times = 0, seconds = 0, wait = FIRST, quiet = 0 }
    mine.list[#mine.list + 1] = probe
  end
  return mine.records[probe]
end

-- Detaches PROBE, which has taken SHARE of a CPU.
local function put_off(probe, share, now)
  local mine, record = own(), record_of(probe)
  if now - record.quiet > 2 * record.wait then record.wait = FIRST end
  local ok, why = pcall(probe.detach, probe)
  if not ok then return loop.warn(("%s: %s"):format(handle.name(probe), tostring(why))) end
  record.times, record.since = record.times + 1, now
  mine.off[probe] = now + record.wait
  loop.warn(("%s is off for %s: it takes %s of a CPU, and --budget is %s"):format(handle.name(probe),
    text.time(record.wait * 1e9), percent(share), percent(mine.limit)))
  record.wait = math.min(2 * record.wait, LAST)
end

-- PROBE has not been off since it was noted last.
local function end_of(record, now)
  record.seconds, record.since, record.quiet = record.seconds + now - record.since, nil, now
end

local function put_on(probe, now)
  own().off[probe] = nil
  local ok, why = pcall(probe.attach, probe)
  end_of(record_of(probe), now)
  local name = handle.name(probe)
  loop.warn(ok and name .. " is on again" or ("%s stays off: %s"):format(name, tostring(why)))
end

-- What each attached probe has taken since the last call: a list of { probe, share }, and the sum.
local function look(now)
  local mine, list, sum = own(), {}, 0
  local seconds = now - mine.at
  for _, probe in ipairs(handle.probes()) do
    local hits, ns = mine.meter:read(probe)
    if probe.status == "attached" then
      local share = (ns + hits * (price.trap(probe) or 0)) / 1e9 / seconds
      list[#list + 1], sum = { probe, share }, sum + share
    end
  end
  mine.at, mine.share = now, sum
  table.sort(list, function(a, b) return a[2] > b[2] end)
  return list, sum
end

local function tick()
  local mine, now = own(), loop.now()
  for probe, back in pairs(mine.off) do
    if probe.status ~= "detached" then -- the script has attached it, or it has ended
      mine.off[probe] = nil
      end_of(record_of(probe), now)
    elseif now >= back then
      put_on(probe, now)
    end
  end
  local list, sum = look(now)
  mine.above = sum > mine.limit and mine.above + 1 or 0
  if mine.above >= PATIENCE then
    mine.above = 0
    for _, entry in ipairs(list) do
      if sum <= mine.limit then break end
      put_off(entry[1], entry[2], now)
      sum = sum - entry[2]
    end
  end
  mine.timer = loop.at(loop.now() + PERIOD, tick)
end

-- start(limit): from now on the probes may take LIMIT, a share of one CPU.
function budget.start(limit)
  local mine, why = own(), nil
  mine.limit, mine.meter = limit, price.meter()
  mine.counting, why = price.count()
  if not mine.counting then loop.warn("--budget knows of traps alone: " .. why) end
  mine.at = loop.now()
  look(mine.at + PERIOD) -- prices are measured before they are needed
  mine.at = loop.now()
  mine.timer = loop.at(mine.at + PERIOD, tick)
end

-- finish(): ends that; what is off stays so.
function budget.finish()
  local mine, now = own(), loop.now()
  if mine.timer then mine.timer.fn = nil end
  if mine.counting then core.system.close(mine.counting) end
  for probe in pairs(mine.off) do end_of(record_of(probe), now) end
  mine.timer, mine.counting, mine.off = nil, nil, {}
end

-- state() → the limit and what the probes take now, as shares of a CPU, and how long each that has been off was so, in
-- seconds by its name; nil without --budget.
function budget.state()
  local mine, seconds = own(), {}
  if not mine.limit then return nil end
  for _, probe in ipairs(mine.list) do
    local record, name = mine.records[probe], handle.name(probe)
    seconds[name] = (seconds[name] or 0) + record.seconds + (record.since and loop.now() - record.since or 0)
  end
  return mine.limit, mine.share, seconds
end

-- lost(): for the ledger.
function budget.lost()
  local list, mine = {}, own()
  local _, _, seconds = budget.state()
  for _, probe in ipairs(mine.list) do
    local name = handle.name(probe)
    local lost = ("%s: off for %s in all to keep to the budget: its hits were not seen")
      :format(name, text.time(seconds[name] * 1e9))
    list[#list + 1] = { lost, mine.records[probe].times, (lost:gsub(" for .- in all", "", 1)) }
  end
  return list
end

return budget
