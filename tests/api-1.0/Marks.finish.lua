-- m:finish in 1.0
local path = os.tmpname()
local t = require "uplua.timeline".new(path)
local up = require "uplua"
local written = require "uplua.marks".draw(t)
up.at_exit(function()
  print(#written:finish())
  t:close()
  os.remove(path)
end)
up.after("10ms", function() up.exit() end)
--> 0
