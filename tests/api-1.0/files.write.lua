-- files.write in 1.0
local up = require "uplua"
local files = require "uplua.stack_files"
arg = { [0] = "mine.lua", "--folded", os.tmpname() }
local options = up.args { "mine.lua [options]", files.folded, files.flame, files.before }
files.write(options, { ["main;serve"] = 23 }, { title = "CPU time" })
print(io.open(options.folded):read "*l")
os.remove(options.folded)
--> main;serve 23
