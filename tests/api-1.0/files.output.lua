-- files.output in 1.0
local up = require "uplua"
local files = require "uplua.stack_files"
local name = os.tmpname() .. ".folded"
arg = { [0] = "mine.lua", "-o", name }
local options = up.args { "mine.lua [options]", files.output, files.folded, files.flame, files.before }
files.check(options)
files.write(options, { ["main;serve"] = 23 }, {})
for line in io.lines(name) do print(line) end
os.remove(name)
--> main;serve 23
