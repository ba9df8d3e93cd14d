-- How the aggregations that know extremes keep apart what was added since the last take: a maximum does not tell
-- afterwards since when it has been what it is. Each element is therefore kept twice, under keys that end in a turn, 0
-- or 1. Handlers add to the element of the current turn, which a take changes; what it leaves behind is what it
-- returns.
--
-- A handler that began before the change may still add to the element that was left. That is found by comparing with
-- what was taken, and counts for the time after the take. Nothing is removed before the next take: only then are the
-- elements that were left set to zero, for the turn that begins, or removed where nobody had used them.
--
-- The word that ends the key is 2 * stretch + turn: large histograms are kept in stretches of buckets
-- (bpf/aggregate.h).
local ffi = require "ffi"
local aggregate = require "uplua.objects.aggregate"

local double_buffer = {}

local word = ffi.typeof "uint64_t *"

function double_buffer.start(s)
  s.turn = 0
  s.words = {}                  -- where the handlers of each setup read the turn
  s.left = {}                   -- raw key → part, of the elements that the last take left
  s.suffix = s.map.key_size - 8 -- its place in a raw key
end

-- The handlers of another setup read the turn at ADDRESS.
function double_buffer.join(s, address)
  s.words[#s.words + 1] = ffi.cast(word, address)
  s.words[#s.words][0] = s.turn
end

-- No handler reads it there any more.
function double_buffer.leave(s, address)
  for i = #s.words, 1, -1 do
    if s.words[i] == ffi.cast(word, address) then table.remove(s.words, i) end
  end
end

local function suffix_of(s, raw)
  local number = tonumber(ffi.cast(word, ffi.cast("const char *", raw) + s.suffix)[0])
  return number % 2, math.floor(number / 2)
end

-- The late updates: values that were added to a part after it was left; nil if there are none.
local function late(s, raw, part) return aggregate.since(s, s.left[raw], part) end

-- Prepares the other turn's elements: ADD gets what has come late, then they are set to zero, or removed where they are
-- unused.
local function renew(s, add)
  local used, unused = {}, {}
  aggregate.each(s, function(raw, part)
    local turn, stretch = suffix_of(s, raw)
    if turn == s.turn then return end
    local rest = late(s, raw, part)
    if rest then add(raw, rest, stretch) end
    local list = part and used or unused
    list[#list + 1] = raw
  end)
  for _, raw in ipairs(unused) do
    s.map:delete(raw)
    if s.spill then s.spill:delete(raw) end
  end
  ffi.fill(s.value_bytes, s.map.cpus * s.map.value_stride)
  for _, raw in ipairs(used) do
    s.map:update(raw, s.value_bytes)
    if s.spill then s.spill:delete(raw) end
  end
  s.left = {}
end

local function change(s)
  s.turn = 1 - s.turn
  for _, place in ipairs(s.words) do place[0] = s.turn end
end

-- Calls SEE(raw key, total) for each key that was added to since the last take. TAKE: and starts anew.
function double_buffer.read(s, take, see)
  local totals, operations = {}, s.operations
  local function add(raw, part, stretch)
    local key = raw:sub(1, s.suffix)
    totals[key] = operations.add(s, totals[key], part, stretch)
  end
  local current = s.turn
  if take then
    renew(s, add)
    change(s)
  end
  aggregate.each(s, function(raw, part)
    local turn, stretch = suffix_of(s, raw)
    if turn == current then
      if part then add(raw, part, stretch) end
      if take then s.left[raw] = part end
    elseif not take then
      local rest = late(s, raw, part)
      if rest then add(raw, rest, stretch) end
    end
  end)
  for key, total in pairs(totals) do see(key, total) end
end

-- The total of the key in the key buffer, or nil. LOOKUP: as of aggregate.part.
function double_buffer.find(s, lookup)
  local place, total = ffi.cast(word, s.key_bytes + s.suffix), nil
  for stretch = 0, s.operations.stretches(s) - 1 do
    for turn = 0, 1 do
      place[0] = 2 * stretch + turn
      local part, raw = aggregate.part(s, lookup), ffi.string(s.key_bytes, s.map.key_size)
      if part and turn ~= s.turn then part = late(s, raw, part) end
      if lookup == "take" then s.left[raw] = nil end
      if part then total = s.operations.add(s, total, part, stretch) end
    end
  end
  return total
end

return double_buffer
