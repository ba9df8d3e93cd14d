-- Descriptors:file in 1.0, on the shop
local up = require "uplua"
local files, same = require "uplua.descriptors".new(), up.count()
up.syscall("write", function(e) same[files:file(e.arg0) == files:file(1) and files:file(1000) == 0]:inc() end)
up.at_exit(function() print(same) end)
--> true  1
