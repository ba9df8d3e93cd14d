-- folded.write in 1.0
local folded = require "uplua.folded"
local path = os.tmpname()
folded.write(path, { ["main;serve"] = 23 })
print(io.open(path):read "*l")
os.remove(path)
--> main;serve 23
