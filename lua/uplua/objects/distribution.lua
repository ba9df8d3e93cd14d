-- The common part of min, max, stats and the histograms: the struct distribution of bpf/aggregate.h, merged, compared
-- and summed up.
--
-- A part is what one element holds; a total is a list of the parts of one key, with .stretch each: large histograms
-- have several.
local ffi = require "ffi"
local contract = require "uplua.contract"
local double_buffer = require "uplua.objects.double_buffer"
local int128 = require "uplua.objects.int128"

ffi.cdef "struct uplua_part { struct uplua_int128 sum; uint64_t max, min; uint64_t buckets[?]; };"

local distribution = {}

local SIGN = 0x8000000000000000ULL
local HEAD = ffi.sizeof "struct uplua_distribution" -- before the buckets of the kernel's
local PART_HEAD = ffi.offsetof("struct uplua_part", "buckets")
local STRETCH = contract.STRETCH                    -- buckets in an element
local new = ffi.typeof "struct uplua_part"
local words = ffi.typeof "const uint64_t *"
local pointer = ffi.typeof "const struct uplua_distribution *"
local int64 = ffi.typeof "int64_t"

-- The value behind the word of a maximum, and of a minimum, which is kept inverted. A word that no value has raised is
-- the least maximum or the greatest minimum.
local function maximum(x, unsigned) return unsigned and x or ffi.cast(int64, bit.bxor(x, SIGN)) end
local function minimum(x, unsigned) return maximum(bit.bnot(x), unsigned) end

local function bucket_count(s) return (s.map.value_size - HEAD) / 8 end

local function is_empty(part, count)
  if part.max ~= 0 or part.min ~= 0 or not int128.is_zero(part.sum) then return false end
  for i = 0, count - 1 do
    if part.buckets[i] ~= 0 then return false end
  end
  return true
end

local function merge(s, p, cpus, stride)
  local count = bucket_count(s)
  local part = new(count)
  for cpu = 0, cpus - 1 do
    local copy = ffi.cast(pointer, p + cpu * stride)
    local buckets = ffi.cast(words, p + cpu * stride + HEAD)
    int128.merge(part.sum, copy.sum)
    if copy.max > part.max then part.max = copy.max end
    if copy.min > part.min then part.min = copy.min end
    for i = 0, count - 1 do part.buckets[i] = part.buckets[i] + buckets[i] end
  end
  if not is_empty(part, count) then return part end
end

local function buckets_of(part) return (ffi.sizeof(part) - PART_HEAD) / 8 end

local function join(a, b)
  int128.add(a.sum, b.sum)
  if b.max > a.max then a.max = b.max end
  if b.min > a.min then a.min = b.min end
  for i = 0, buckets_of(a) - 1 do a.buckets[i] = a.buckets[i] + b.buckets[i] end
  return a
end

-- Sum and buckets are exact. An extreme is there if it was raised since; a value that came late and raised neither lies
-- between those of before, with which it has been shown already.
local function minus(part, earlier)
  local count = buckets_of(part)
  local rest = new(count)
  for i = 0, count - 1 do rest.buckets[i] = part.buckets[i] - earlier.buckets[i] end
  rest.sum = part.sum
  int128.subtract(rest.sum, earlier.sum)
  if part.max ~= earlier.max then rest.max = part.max end
  if part.min ~= earlier.min then rest.min = part.min end
  if not is_empty(rest, count) then return rest end
end

local function add(_, total, part, stretch)
  total = total or {}
  total[#total + 1] = { part = part, stretch = stretch }
  return total
end

local function together(a, b)
  local total, place = {}, {}
  for _, list in ipairs { a, b } do
    for _, piece in ipairs(list) do
      local at = place[piece.stretch]
      if not at then
        at = #total + 1
        place[piece.stretch], total[at] = at, { part = new(buckets_of(piece.part)), stretch = piece.stretch }
      end
      join(total[at].part, piece.part)
    end
  end
  return total
end

-- The fields count, sum, avg, min and max of TOTAL, of the aggregation S; FOUND(bucket, count) is called for each
-- bucket that is not empty.
function distribution.sum_up(s, total, found)
  local sum, max, min, count = int128.sum(), 0ULL, 0ULL, 0
  for _, piece in ipairs(total) do
    local part = piece.part
    int128.add(sum, part.sum)
    if part.max > max then max = part.max end
    if part.min > min then min = part.min end
    for i = 0, buckets_of(part) - 1 do
      local n = tonumber(part.buckets[i])
      if n ~= 0 then
        count = count + n
        found(piece.stretch * STRETCH + i, n)
      end
    end
  end
  local result = { count = count, sum = int128.value(sum) }
  if count == 0 then return result end
  result.avg = tonumber(result.sum) / count
  local highest, lowest = maximum(max, s.unsigned), minimum(min, s.unsigned)
  -- An extreme that is still to come, or that came before, is not there: it would be on the wrong side of the other
  -- one.
  if max ~= 0 or lowest <= highest then result.max = int128.plain(highest) end
  if min ~= 0 or lowest <= highest then result.min = int128.plain(lowest) end
  return result
end

local function mark(total)
  local count = 0
  for _, piece in ipairs(total) do
    for i = 0, buckets_of(piece.part) - 1 do count = count + tonumber(piece.part.buckets[i]) end
  end
  return count
end

-- The operations of aggregations that keep distributions; NEW_VALUE(s, total) makes what the script sees, ordered BY a
-- field (nil: it is a number).
function distribution.operations(new_value, by)
  return {
    keeping = double_buffer, empty = "(empty)", by = by,
    merge = merge, join = join, minus = minus, add = add, together = together,
    mark = mark,
    stretches = function(s) return s.buckets and s.buckets.stretches or 1 end,
    value = new_value,
    zero = function(s) return new_value(s, {}) end,
  }
end

return distribution
