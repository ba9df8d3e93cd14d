-- text.escape in 1.0
local text = require "uplua.text"
print(text.escape "a\27b", text.escape("a\tb", "\t") == "a\tb")
--> a\x1bb	true
