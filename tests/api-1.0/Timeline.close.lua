-- t:close in 1.0
local path = os.tmpname()
local t = require "uplua.timeline".new(path)
print(t:close(), t:close(), (io.open(path):read "*a":gsub("%s+$", ""):sub(-1)))
os.remove(path)
--> true	true	]
