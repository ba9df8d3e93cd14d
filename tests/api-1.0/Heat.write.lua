-- h:write in 1.0, on the shop
local up = require "uplua"
local h = require "uplua.heat".new { every = "1h" }
local path = os.tmpname()
up.uprobe("./shop:sell", function(e) h:add(23) end)
up.at_exit(function()
  h:write(path)
  print(io.open(path):read "*a":match "<svg")
  os.remove(path)
end)
--> <svg
