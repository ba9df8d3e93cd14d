-- up.list in 1.0
local up = require "uplua"
for _, entry in ipairs(up.list("uprobe:./shop:sell")) do print((entry.probe:gsub("/.*/", ""))) end
--> uprobe:shop:sell
