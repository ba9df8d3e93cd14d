-- specs.name_apart in 1.0
local specs = require "uplua.specs"
local rows = { { func = "write", probe = "libc:write" }, { func = "write", probe = "write" } }
specs.name_apart(rows, { "libc:write", "syscall:write" })
print(rows[1].func, rows[2].func)
--> write (libc:write)	write (syscall:write)
