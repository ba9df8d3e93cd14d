-- up.ip in 1.0
local up = require "uplua"
print(up.ip("\127\0\0\1"))
--> 127.0.0.1
