-- folded.sums in 1.0
local folded = require "uplua.folded"
print(folded.sums({ ["main;serve"] = 23 })["main;serve"])
--> 23
