-- count and sum: totals that handlers add to, per CPU and lossless.
--   local n = up.count()          handlers: n:inc(), n[key]:inc()
--   local s = up.sum()            handlers: s:add(v), s[key]:add(v)
--   n:get()  n[key]  n:pairs()  n:top(10)  n:take()  n:clear()  print(n)
-- A key that was never counted reads 0.
local aggregate = require "uplua.objects.aggregate"
local baseline = require "uplua.objects.baseline"
local int128 = require "uplua.objects.int128"

local count = {}

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
  value = function(_, total) return int128.value(total) end,
  zero = function() return 0 end,
}

count.count = aggregate.constructor("count", operations)
count.sum = aggregate.constructor("sum", operations)

return count
