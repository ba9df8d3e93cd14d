-- stat.titles in 1.0: as short as tells them apart
local counts = require "uplua.stat".new { "syscall:getpid", "sysreturn:getpid", "syscall:read" }
print(table.concat(counts.titles, " "))
require "uplua".exit()
--> syscall:getpid sysreturn:getpid read
