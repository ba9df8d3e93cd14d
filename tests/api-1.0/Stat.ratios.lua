-- stat:ratios in 1.0
local counts = require "uplua.stat".new({ "syscall:getpid", "syscall:read" }, { ratios = { "r=read/getpid" } })
print(counts:ratios({ read = 6, getpid = 4 }).r, counts:ratios({ read = 6, getpid = 0 }).r)
require "uplua".exit()
--> 1.5	nil
