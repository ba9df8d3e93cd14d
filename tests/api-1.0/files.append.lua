-- files.append in 1.0
local up = require "uplua"
local files = require "uplua.stack_files"
arg = { [0] = "mine.lua", "--folded", os.tmpname() }
local options = up.args { "mine.lua [options]", files.folded }
files.append(options, up.now(), { ["main;serve"] = 23 })
files.append(options, up.now() + 1e9, { ["main;serve"] = 4 })
for line in io.lines(options.folded) do print((line:gsub("^[%d:.]+", "TIME"))) end
os.remove(options.folded)
--> TIME;main;serve 23
--> TIME;main;serve 4
