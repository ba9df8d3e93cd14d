-- files.before in 1.0
local up = require "uplua"
local files = require "uplua.stack_files"
arg = { [0] = "mine.lua", "--folded", os.tmpname() }
local options = up.args { "mine.lua [options]", files.folded, files.flame, files.before }
print(files.before[1], options.before)
os.remove(options.folded)
--> before	nil
