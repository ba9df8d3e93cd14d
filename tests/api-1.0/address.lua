-- up.address in 1.0
local up = require "uplua"
local own = io.open "/proc/self/stat":read "*n"
print(up.address("libc:malloc", own) > 0, (up.address("libc:nosuch", own)))
--> true	nil
