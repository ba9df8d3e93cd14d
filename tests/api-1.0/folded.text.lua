-- folded.text in 1.0
local folded = require "uplua.folded"
io.write(folded.text { ["main;serve"] = 23 })
--> main;serve 23
