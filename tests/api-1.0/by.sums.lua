-- by.sums in 1.0, on the shop
local up   = require "uplua"
local by   = require "uplua.by"
local view = require "uplua.view"
local who = by.new(nil, { keys = { "odd=e.arg1 % 2", "e.comm" } })
local sums, n = by.sums { "customers=e.arg1" }, up.count()
local key, add = who.key, sums.add
up.uprobe("./shop:sell", function(e)
  local k = key(e)
  add(e, k)
  n[k]:inc()
end)
up.at_exit(function()
  sums:take()
  local rows = {}
  for k, count in n:pairs() do rows[#rows + 1] = sums:fill(who:fill({ n = count }, k), k) end
  view.new { who.columns, { "n", "Sales" }, sums.columns, by = "n" }:print(rows)
end)
--> odd  e.comm  Sales  customers
--> 0    shop    53           548
--> 1    shop    48           500
