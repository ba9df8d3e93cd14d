-- count and sum: totals that handlers add to, per CPU and lossless.
--   local n = up.count()          handlers: n:inc(), n[key]:inc()
--   local s = up.sum()            handlers: s:add(v), s[key]:add(v)
--   n:get()  n[key]  n:pairs()  n:top(10)  n:take()  n:clear()  print(n)
-- A key that was never counted reads 0.
local ffi = require "ffi"
local aggregate = require "uplua.objects.aggregate"
local int128 = require "uplua.objects.int128"

local count = {}

-- How they keep apart what was added since the last take. Taking never removes what handlers may be adding to
-- at this moment: a handler on another CPU could have found the element and add to it just after it was removed, and
-- that increment would be lost. Instead the total at the take is remembered as the key's baseline and is subtracted
-- from later reads. Baselines would let keys that are no longer used fill the map; so, when it is more than half full,
-- a take removes the keys that did not change since the take before.
local baseline = {}

function baseline.start(s) s.baseline = {} end

local function since(s, raw, total) return aggregate.since(s, s.baseline[raw], total) end

-- Calls SEE(raw key, total) for each key that was added to since the last take. TAKE: and starts anew.
function baseline.read(s, take, see)
  local idle, held = {}, 0
  aggregate.each(s, function(raw, total)
    local added = since(s, raw, total)
    held = held + 1
    if added ~= nil then
      see(raw, added)
    elseif take then
      idle[#idle + 1] = raw
    end
    if take then s.baseline[raw] = total end
  end)
  if not (take and s.key and held * 2 > s.map.max_entries) then return end
  for _, raw in ipairs(idle) do
    ffi.copy(s.key_bytes, raw, #raw)
    local added = since(s, raw, aggregate.part(s, "take"))
    if added ~= nil then see(raw, added) end
    s.baseline[raw] = nil
  end
end

-- The total of the key in the key buffer, or nil. LOOKUP: as of aggregate.part.
function baseline.find(s, lookup)
  local raw = ffi.string(s.key_bytes, s.map.key_size)
  local total = since(s, raw, aggregate.part(s, lookup))
  if lookup == "take" then s.baseline[raw] = nil end
  return total
end

local operations = {
  keeping = baseline,
  empty = "0",
  merge = function(_, p, cpus, stride) return int128.merged(p, cpus, stride) end,
  join = function(a, b)
    int128.add(a, b)
    return a
  end,
  minus = function(total, earlier)
    local rest = int128.sum(total)
    int128.subtract(rest, earlier)
    if not int128.is_zero(rest) then return rest end
  end,
  together = function(a, b)
    local sum = int128.sum(a)
    int128.add(sum, b)
    return sum
  end,
  mark = function(total) return int128.value(total) end,
  value = function(_, total) return int128.value(total) end,
  zero = function() return 0 end,
}

count.count = aggregate.constructor("count", operations)
count.sum = aggregate.constructor("sum", operations)

return count
