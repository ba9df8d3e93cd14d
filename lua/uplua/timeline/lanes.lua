-- The lanes of a track: no viewer draws spans that overlap, unless one is inside of the other. So each track has as
-- many lanes as it takes.
--
-- A lane knows the outermost spans that are in it, in the order of time, apart from each other. It forgets what a new
-- span holds, and where there are many, the older half of them counts as one. So it never takes one that overlaps, but
-- may refuse one that does not, which then comes into the next lane.
local lanes = {}

lanes.MOST = 64         -- of a track

local MOST_SPANS = 1024 -- that a lane knows

local function join_older(lane)
  local starts, ends, half = lane.starts, lane.ends, math.floor(lane.count / 2)
  ends[1] = ends[half]
  for i = half + 1, lane.count do
    starts[i - half + 1], ends[i - half + 1] = starts[i], ends[i]
  end
  lane.count = half + 1
end

-- Puts [FROM, TO] in the place of those from FIRST to LAST, which are inside it.
local function replace(lane, first, last, from, to)
  local starts, ends, count = lane.starts, lane.ends, lane.count
  local gone = last - first + 1
  if last < count then -- some are later
    if gone == 0 then
      for i = count, first, -1 do starts[i + 1], ends[i + 1] = starts[i], ends[i] end
    else
      for i = last + 1, count do starts[i - gone + 1], ends[i - gone + 1] = starts[i], ends[i] end
    end
  end
  starts[first], ends[first] = from, to
  lane.count = count - gone + 1
  if lane.count > MOST_SPANS then join_older(lane) end
end

-- Whether LANE has taken [FROM, TO]. It refuses one that begins where another does that is not over there: viewers
-- would not know which of them is inside.
local function take(lane, from, to)
  local starts, ends, count = lane.starts, lane.ends, lane.count
  local before = count
  while before > 0 and starts[before] > from do before = before - 1 end
  if before > 0 and ends[before] > from then return false end
  local last = count
  while last > before and starts[last] >= to do last = last - 1 end
  if last > before and ends[last] > to then return false end
  replace(lane, before + 1, last, from, to)
  return true
end

-- of(track, from, to, make): the lane of TRACK, { lanes = { first } }, that has taken [FROM, TO], numbers; nil where
-- none has. MAKE(track, number) makes another one.
function lanes.of(track, from, to, make)
  local list = track.lanes
  for i = 1, #list do
    if take(list[i], from, to) then return list[i] end
  end
  if #list >= lanes.MOST then return nil end
  local lane = make(track, #list + 1)
  list[#list + 1] = lane
  take(lane, from, to)
  return lane
end

-- new(fields): FIELDS as a lane that has no spans.
function lanes.new(fields)
  fields.starts, fields.ends, fields.count = {}, {}, 0
  return fields
end

return lanes
