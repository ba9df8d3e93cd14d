-- up.modules_defining in 1.0, on the shop
local up = require "uplua"
for _, path in ipairs(up.modules_defining("sell", function(path) end)) do print(path:match "[^/]*$") end
--> shop
