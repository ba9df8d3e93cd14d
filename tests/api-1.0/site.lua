-- up.site in 1.0
local up = require "uplua"
print(up.site("./shop:sell")["function"], (up.site "./shop:nosuch"))
--> sell	nil
