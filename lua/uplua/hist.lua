-- hist: log2 histograms that handlers add to.
--   local h = up.hist()           handlers: h:add(v), h[key]:add(v)
--   h.count  h.sum  h.avg  h.min  h.max  h:percentile(99)     unkeyed; of h:get()
--   h[key].count …  h:pairs()  h:top(10, "sum")               keyed; ordered by count unless said otherwise
--   h:take()  h:clear()  print(h)
local aggregate = require "uplua.aggregate"
local histogram = require "uplua.histogram"

local operations = {
  empty = "(empty)",
  merge = histogram.merge,
  minus = histogram.minus,
  value = histogram.new,
  zero = histogram.empty,
  by = "count",
}

return {
  hist = aggregate.constructor("hist", operations,
    { count = true, sum = true, avg = true, min = true, max = true, percentile = true }),
}
