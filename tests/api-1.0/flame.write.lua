-- flame.write in 1.0
local flame = require "uplua.flame"
local path = os.tmpname()
flame.write(path, { ["main;serve"] = 23 }, { title = "CPU time", unit = "samples" })
print(io.open(path):read "*a":match "CPU time")
os.remove(path)
--> CPU time
