-- make bench: how long a table of 10,000 rows takes to be repainted where it lives, at the first rows and with a filter
-- that most rows pass. Writes "WHAT MILLISECONDS" lines to the file that is its argument, of each repaint one.
local up   = require "uplua"
local view = require "uplua.view"

local options = up.args { "live.lua FILE", arguments = 1 }
local ROWS, ROUNDS = 10000, 41

local orders = view.new {
  { "name", "Order" }, { "count", "Count", "count" }, { "took", "Took", "ns" }, { "share", "", "bar" }, by = "count",
}
local rows = {}
for i = 1, ROWS do
  rows[i] = { name = ("order-%d of a customer"):format(i), count = i, took = 1000 * i, share = i / ROWS }
end

local out, rounds = assert(io.open(options[1], "w")), 0
up.every("10ms", function()
  for _, row in ipairs(rows) do row.count = row.count * 7919 % 104729 end
  local begin = up.now()
  orders:refresh(rows, "orders of the day")
  out:write(("live %.3f\n"):format(tonumber(up.now() - begin) / 1e6))
  rounds = rounds + 1
  if rounds == ROUNDS then up.exit() end
end)
up.at_exit(function() out:close() end)
