-- How many blocks that all passes have found lost are wrongly among them, from how their number has shrunk.
local estimate = {}

-- Of the drops, from the number of one pass to that of the next.
local function drops_of(counts)
  local drops = {}
  for i = 1, #counts - 1 do drops[i] = math.max(counts[i] - counts[i + 1], 0) end
  return drops
end

-- By what the drops from the FIRST to the last but one have shrunk from one to the next. Half a block is added where
-- nothing was seen: that no block dropped out is no proof that none would.
local function ratio(drops, first)
  local before, after = 1, 0.5
  for i = first, #drops - 1 do before, after = before + drops[i], after + drops[i + 1] end
  return after / before
end

local WINDOW = 4 -- drops: what remains may be more lasting than what has gone first

-- wrong(counts) → about how many of the last of COUNTS, one for each pass, are wrong; nil where that is not yet known.
-- Each pass misses the pointer to a block that is held with some chance; so those that are wrong become fewer by the
-- same ratio each time, and after a drop of d the sum of all drops to come is d × r / (1 - r).
function estimate.wrong(counts)
  local drops = drops_of(counts)
  if #drops < 2 then return nil end
  local r = math.min(math.max(ratio(drops, 1), ratio(drops, math.max(#drops - WINDOW, 1))), 0.95)
  local last = #drops
  while last > 1 and drops[last] == 0 do last = last - 1 end
  return math.max(drops[last], 1) * r ^ (#drops - last) * r / (1 - r)
end

return estimate
