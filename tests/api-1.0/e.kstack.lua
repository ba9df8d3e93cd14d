-- e:kstack in 1.0, on the shop
local up = require "uplua"
local n = up.count()
up.syscall("write", function(e) n[e:kstack(1)]:inc() end)
up.at_exit(function() for stack in n:pairs() do print(#stack >= 0) end end)
--> true
