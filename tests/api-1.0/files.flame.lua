-- files.flame in 1.0
local up = require "uplua"
local files = require "uplua.stack_files"
arg = { [0] = "mine.lua", "--folded", os.tmpname() }
local options = up.args { "mine.lua [options]", files.folded, files.flame, files.before }
print(files.flame[1], options.flame)
os.remove(options.folded)
--> flame	nil
