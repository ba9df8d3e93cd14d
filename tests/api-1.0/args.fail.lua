-- args.fail in 1.0
arg = { [0] = "mine.lua" }
local args = require "uplua.args"
local exit = os.exit
os.exit = function(status)
  print("ends with", status)
  exit(0)
end
args.fail("--top: %d is too many", 23)
--> ends with	2
