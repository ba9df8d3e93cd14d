-- descriptors.new in 1.0, on the shop
local up = require "uplua"
local descriptors = require "uplua.descriptors"
local files, n = descriptors.new { max = 1000 }, up.count()
up.syscall("write", function(e) n[files:file(e.arg0)]:inc() end)
up.at_exit(function() for file in n:pairs() do print(files:name(file) ~= nil) end end)
print(pcall(descriptors.new, { most = 1 }))
--> false	descriptors.new: unknown option 'most'; it has max, size
--> true
