-- The range of values of each bucket of a histogram, and how buckets are drawn. A scheme has
--   lowest(i), highest(i)   the least and the greatest integer of bucket i, as numbers; infinite where it is open.
--                           Beyond 2^53, where not each integer is a number, the greatest one that is
--   row(i, stride)          the row of the picture that bucket i belongs to: a multiple of STRIDE, ascending with the
--                           values
--   label(row, stride, unit)  what stands beside it; the unit may be nil
-- and what the compiler is told (low, step, count; bits), and in how many stretches the kernel keeps the buckets.
local contract = require "uplua.contract"
local text = require "uplua.base.text"

local buckets = {}

local LEAST, MOST = -math.huge, math.huge
local UNITS = { "", "K", "M", "G", "T", "P", "E" }

-- The greatest integer below VALUE, positive and a whole number too, that is a number. Numbers have 53 bits.
local function below(value)
  local fraction, exponent = math.frexp(value) -- value = fraction * 2^exponent
  local step = 2 ^ (exponent - (fraction == 0.5 and 54 or 53))
  return value - math.max(1, step)
end

-- 2^k, of a unit or as 1024 → "1K"
local function power(k, unit)
  if unit then return text.quantity(2 ^ k, unit) end
  return ("%d%s"):format(2 ^ (k % 10), UNITS[math.floor(k / 10) + 1])
end

-- Rows of powers of two: -1 for negative values, 0 for zeros, 1 + k for 2^k … 2^(k+1) - 1.
local function power_label(row, _, unit)
  if row == -1 then return "< 0" end
  if row == 0 then return "0" end
  if row == 1 then return power(0, unit) end
  return ("[%s, %s)"):format(power(row - 1, unit), power(row, unit))
end

local function power_row(lowest)
  if lowest < 0 then return -1 end
  return lowest == 0 and 0 or select(2, math.frexp(lowest))
end

-- hist: bucket 0 for negative values, 1 for zeros, 2 + k for 2^k … 2^(k+1) - 1, of which only unsigned values reach the
-- last.
function buckets.log2()
  local scheme = { label = power_label }
  function scheme.row(i) return i - 1 end
  function scheme.lowest(i) return i == 0 and LEAST or i == 1 and 0 or 2 ^ (i - 2) end
  function scheme.highest(i) return i == 0 and -1 or i == 1 and 0 or below(2 ^ (i - 1)) end
  return scheme
end

-- lhist: bucket 0 for what is below LOW, 1 + k for STEP values from LOW + k * STEP on, COUNT + 1 for what is above.
function buckets.linear(low, step, count)
  local scheme = { low = low, step = step, count = count, stretches = math.ceil((count + 2) / contract.STRETCH) }
  local function edge(k) return low + math.min(k, count) * step end
  function scheme.lowest(i) return i == 0 and LEAST or edge(i - 1) end
  function scheme.highest(i) return i == count + 1 and MOST or edge(i) - 1 end
  function scheme.row(i, stride)
    return (i == count + 1 and math.ceil(count / stride) or math.floor((i - 1) / stride)) * stride
  end
  function scheme.label(row, stride, unit)
    local function n(value) return text.exact(value, unit) end
    if row < 0 then return "< " .. n(low) end
    if row >= count then return "≥ " .. n(edge(count)) end
    if step * stride == 1 then return n(edge(row)) end
    return ("[%s, %s)"):format(n(edge(row)), n(edge(row + stride)))
  end
  return scheme
end

-- hdr: HdrHistogram's for DIGITS significant digits. The bucket (k << bits) + sub holds the values from sub << k on,
-- 2^k of them; sub is at least 2^bits but for k = 0. The last bucket is for negative values. Drawn are powers of two.
function buckets.hdr(digits)
  local bits = math.ceil(math.log(2 * 10 ^ digits) / math.log(2)) - 1
  local half = 2 ^ bits
  local last = (65 - bits) * half
  local scheme = {
    bits = bits, percentiles = true, stretches = math.ceil((last + 1) / contract.STRETCH), label = power_label,
  }
  local function edge(i)
    local k = math.max(0, math.floor(i / half) - 1)
    return (i - k * half) * 2 ^ k, 2 ^ k
  end
  function scheme.lowest(i) return i == last and LEAST or (edge(i)) end
  function scheme.highest(i)
    if i == last then return -1 end
    local low, width = edge(i)
    return below(low + width)
  end
  function scheme.row(i) return power_row(scheme.lowest(i)) end
  return scheme
end

return buckets
