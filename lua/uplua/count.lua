-- count and sum: totals that handlers add to, per CPU and lossless.
--   local n = up.count()          handlers: n:inc(), n[key]:inc()
--   local s = up.sum()            handlers: s:add(v), s[key]:add(v)
--   n:get()  n[key]  n:pairs()  n:top(10)  n:take()  n:clear()  print(n)
-- A key that was never counted reads 0.
local ffi = require "ffi"
local aggregate = require "uplua.aggregate"
local baseline = require "uplua.baseline"
local wide = require "uplua.wide"

local count = {}

local int64_p = ffi.typeof "const int64_t *"

-- Counts stay int64_t until the script sees them.
count.count = aggregate.constructor("count", {
  keeping = baseline,
  empty = "0",
  merge = function(_, p, cpus, stride)
    local total = 0LL
    for cpu = 0, cpus - 1 do total = total + ffi.cast(int64_p, p + cpu * stride)[0] end
    return total
  end,
  join = function(a, b) return a + b end,
  minus = function(total, earlier)
    if total ~= earlier then return total - earlier end
  end,
  value = function(_, total) return wide.plain(total) end,
  zero = function() return 0 end,
})

count.sum = aggregate.constructor("sum", {
  keeping = baseline,
  empty = "0",
  merge = function(s, p, cpus, stride) return wide.merged(p, cpus, stride, s.unsigned) end,
  join = function(a, b)
    wide.add(a, b)
    return a
  end,
  minus = function(total, earlier)
    local rest = wide.sum(total)
    wide.subtract(rest, earlier)
    if not wide.is_zero(rest) then return rest end
  end,
  value = function(s, total) return wide.value(total, s.unsigned) end,
  zero = function() return 0 end,
})

return count
