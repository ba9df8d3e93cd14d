-- Sums of more than 64 bits: the struct sum of bpf/aggregate.h, low + 2^64 * wraps with a signed low, as low + 2^64 *
-- high, where low is unsigned.
local ffi = require "ffi"
require "uplua.contract"

ffi.cdef "struct uplua_int128 { uint64_t low; int64_t high; };"

local int128 = {}

local SIGN = 0x8000000000000000ULL
local int64 = ffi.typeof "int64_t"
int128.sum = ffi.typeof "struct uplua_int128"
local pointer = ffi.typeof "const struct uplua_sum *"

-- A 64-bit integer as the script sees it: a number where that is exact.
function int128.plain(x)
  if x <= 9007199254740992LL and (ffi.istype("uint64_t", x) or x >= -9007199254740992LL) then return tonumber(x) end
  return x
end

-- Adds COPY, a struct sum of the kernel's, to SUM.
function int128.merge(sum, copy)
  sum.low = sum.low + copy.low
  sum.high = sum.high + copy.wraps - (copy.low >= SIGN and 1 or 0) + (sum.low < copy.low and 1 or 0)
end

-- The sum at address P and so many STRIDEs behind it, of all CPUs.
function int128.merged(p, cpus, stride)
  local sum = int128.sum()
  for cpu = 0, cpus - 1 do int128.merge(sum, ffi.cast(pointer, p + cpu * stride)) end
  return sum
end

function int128.add(sum, other)
  sum.low = sum.low + other.low
  sum.high = sum.high + other.high + (sum.low < other.low and 1 or 0)
end

function int128.subtract(sum, other)
  local borrow = sum.low < other.low and 1 or 0
  sum.low = sum.low - other.low
  sum.high = sum.high - other.high - borrow
end

function int128.is_zero(sum) return sum.low == 0 and sum.high == 0 end

-- SUM as the script sees it: exact, or rounded to a number where 64 bits, signed or not, have no room for it.
function int128.value(sum)
  if sum.high == 0 then return int128.plain(sum.low < SIGN and ffi.cast(int64, sum.low) or sum.low) end
  if sum.high == -1 and sum.low >= SIGN then return int128.plain(ffi.cast(int64, sum.low)) end
  return tonumber(sum.high) * 2 ^ 64 + tonumber(sum.low)
end

-- True if VALUE is a sum that was rounded.
function int128.is_rounded(value) return type(value) == "number" and math.abs(value) >= 2 ^ 63 end

return int128
