-- flame.svg in 1.0
local flame = require "uplua.flame"
print(flame.svg({ ["main;serve"] = 23 }, { title = "CPU time" }):match "^<[?%a]+")
--> <?xml
