-- folded.read in 1.0
local folded = require "uplua.folded"
local path = os.tmpname()
folded.write(path, { ["main;serve"] = 23 })
print(folded.read(path)["main;serve"], (folded.read "/nonexistent"))
os.remove(path)
--> 23	nil
