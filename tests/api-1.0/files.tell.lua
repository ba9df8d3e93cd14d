-- files.tell in 1.0: on standard error
local up = require "uplua"
local files = require "uplua.stack_files"
arg = { [0] = "mine.lua", "--folded", "/dev/null" }
local options = up.args { "mine.lua [options]", files.folded }
print("told", files.tell(options))
--> told
