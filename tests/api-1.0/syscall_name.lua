-- up.syscall_name in 1.0
local up = require "uplua"
print(up.syscall_name(up.syscall_number "openat"))
--> openat
