-- folded.append in 1.0
local up, folded = require "uplua", require "uplua.folded"
local path = os.tmpname()
folded.append(path, up.now(), { ["main;serve"] = 4 })
folded.append(path, up.now() + 1e9, { ["main;serve"] = 23, main = 1 })
for line in io.lines(path) do print((line:gsub("%d%d:%d%d:%d%d%.%d%d%d;", "TIME "))) end
os.remove(path)
--> TIME main;serve 4
--> TIME main 1
--> TIME main;serve 23
