-- text.size in 1.0
local text = require "uplua.text"
print(text.size "64k", (text.size "large"))
--> 65536	nil
