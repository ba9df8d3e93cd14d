-- syscalls.text in 1.0
local up       = require "uplua"
local syscalls = require "uplua.syscalls"
print(syscalls.text("openat", "flags", 0x80000), syscalls.text("mmap", 3, 3), syscalls.text("kill", "sig", 9))
print((select(2, pcall(syscalls.text, "openat", "nosuch", 1)):match "has no argument.*"))
up.exit()
--> O_RDONLY|O_CLOEXEC	PROT_READ|PROT_WRITE	SIGKILL
--> has no argument nosuch; it has dfd, filename, flags, mode
