-- Emits RECORDS of 16 bytes at each call of mark in build/bench/emits, into a ring with this DELAY; prints how many
-- have come, and how long one in 101 of them took to the callback, in ms: the median.
--   uplua emits.lua RECORDS DELAY -- build/bench/emits …
local up = require "uplua"

local records, delay = tonumber(arg[1]), arg[2]
local ring = up.ring { delay = delay }
up.uprobe("build/bench/emits:mark", function(e)
  local at = e.time
  for i = 1, records do ring:emit { at = at, number = i } end
end)

local n, took = 0, {}
ring:each(function(record)
  if n % 101 == 0 then took[#took + 1] = up.now() - record.at end
  n = n + 1
end)
up.at_exit(function()
  table.sort(took)
  up.printf("%d records, %.3f ms\n", n, tonumber(took[math.ceil(#took / 2)]) / 1e6)
end)
