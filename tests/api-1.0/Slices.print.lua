-- s:print in 1.0, on the shop
local up = require "uplua"
local hits = require "uplua.slices".new { slice = "1h", title = "Room" }
local path = os.tmpname()
up.uprobe("./shop:sell", function(e) hits:add(7) end)
up.at_exit(function()
  io.output(path)
  hits:print(true)
  io.output():close()
  io.output(io.stdout)
  local text = io.open(path):read "*a"
  print(text:match "^101 hits in ", text:match "Room 7")
  os.remove(path)
end)
--> 101 hits in 	Room 7
