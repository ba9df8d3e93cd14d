-- up.symbol in 1.0
local up = require "uplua"
local own = io.open "/proc/self/stat":read "*n"
print(up.symbol(own, up.address("libc:malloc", own)).symbol:match "malloc")
--> malloc
