-- up.syscall_number in 1.0
local up = require "uplua"
print(up.syscall_number "openat" > 0, (up.syscall_number "nosuch"))
--> true	nil
