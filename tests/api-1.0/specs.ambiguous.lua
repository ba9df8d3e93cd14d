-- specs.ambiguous in 1.0
local specs = require "uplua.specs"
print(specs.ambiguous { "libc:malloc", "libc:free" }, specs.ambiguous { "libc:write", "syscall:write" })
--> false	true
