-- files.changes in 1.0
local up = require "uplua"
local files, folded = require "uplua.stack_files", require "uplua.folded"
local name = os.tmpname()
folded.write(name, { ["main;serve"] = 1, ["main"] = 1 })
arg = { [0] = "mine.lua", "--diff", name }
local options = up.args { "mine.lua [options]", files.diff }
files.check(options)
for _, one in ipairs(files.changes(options, { ["main;serve"] = 23 })) do print(one.name, one.before, one.now) end
os.remove(name)
--> serve	50	100
--> main	50	0
