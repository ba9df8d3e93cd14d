-- Emits RECORDS at each call of mark in build/bench/emits, and writes each as a span into the timeline FILE, on as many
-- tracks as there are records a hit; prints how many events it has, and the CPU time that uplua took for one, in ns.
--   uplua timeline.lua RECORDS FILE -- build/bench/emits …
local up       = require "uplua"
local timeline = require "uplua.timeline"

local records, path = tonumber(arg[1]), arg[2]
local ring = up.ring { size = "64M" }
up.uprobe("build/bench/emits:mark", function(e)
  local at = e.time
  for i = 1, records do ring:emit { at = at, number = i, pid = e.pid } end
end)

local t = timeline.new(path, { size = "4G" })
local tracks = {}
for i = 1, records do tracks[i] = t:track { process = "bench", name = "record " .. i } end

local n = 0
local before = os.clock()
ring:each(function(record)
  t:span(tracks[record.number], "mark", record.at, record.at + 100)
  n = n + 1
end)
up.at_exit(function()
  assert(t:close())
  up.printf("%d events, %.0f ns\n", n, (os.clock() - before) * 1e9 / n)
end)
