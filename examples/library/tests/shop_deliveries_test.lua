-- Does shop_deliveries.lua count every delivery? As root: uplua --test examples/library
local test = require "uplua.test"

local SHOP = "build/examples/shop" -- of uplua's source: `make demo` builds it

if not io.open(SHOP) then
  test.skip("there is no " .. SHOP .. " here")
else
  local run = test.run { "shop_deliveries.lua", SHOP, target = { SHOP } }
  test.is(run.status, 0, "the status is the shop's")
  test.is(run.objects.calls, { ["Elm Street"] = 74, ["Abbey Road"] = 69, ["Rue de Rivoli"] = 70 }, "calls by street")
  test.is(run.ledger, {}, "nothing was lost")
  test.like(run.output, "^101 orders", "the shop sells as without uplua")
end
