-- Descriptors:shown in 1.0, on the shop
local up = require "uplua"
local files, n = require "uplua.descriptors".new(), up.count()
up.syscall("read", function(e) n[files:file(e.arg0)]:inc() end)
up.at_exit(function() for file in n:pairs() do print((files:shown(file):gsub("/.*/", "/"))) end end)
--> </libc.so.6>
