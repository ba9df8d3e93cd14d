-- up.defines in 1.0
local up = require "uplua"
print(up.defines "libc:malloc", (up.defines "libc:nosuch"))
--> true	nil
