-- Descriptors:path in 1.0, on the shop
local up = require "uplua"
local files, n = require "uplua.descriptors".new(), up.count()
up.syscall("openat", function(e) n[files:file(e.arg0)]:inc() end)
local folder = os.getenv "PWD"
up.at_exit(function() for file in n:pairs() do print(files:path(file):sub(-#folder) == folder) end end)
--> true
