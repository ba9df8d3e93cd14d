-- A view that lives, of forty rows that stay; what a row hides is shown by Enter.
local up, view = require "uplua", require "uplua.view"

local orders = view.new {
  { "name", "Order" }, { "count", "Count", "count" }, { "took", "Took", "ns" }, { "share", "", "bar" },
  by = "count", top = 30,
}

local rounds = 0
up.every("100ms", function()
  rounds = rounds + 1
  local rows = {}
  for i = 1, 40 do
    rows[i] = { name = ("%s-%d"):format(i % 2 == 0 and "Even" or "odd", i), count = i, took = 1000 * (100 - i),
                share = i / 40, behind = i % 2 == 0 and ("first of %d\nsecond \27[2Jline"):format(i) or nil,
                stack = i == 39 and function(row) return "stack of " .. row.name end or nil }
  end
  orders:refresh(rows, "orders\27 of the day")
  if rounds == 3 then print "printed meanwhile" end
  if rounds == 5 and arg[1] == "error" then error "an error of the script" end
end)
up.at_exit(function() print "the report" end)
