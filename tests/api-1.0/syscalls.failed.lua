-- syscalls.failed in 1.0
local up       = require "uplua"
local syscalls = require "uplua.syscalls"
print(syscalls.failed(-2), syscalls.failed(-1), syscalls.failed(3), syscalls.failed(-4096))
up.exit()
--> true	true	false	false
