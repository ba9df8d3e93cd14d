-- up.signal_name in 1.0
local up = require "uplua"
print(up.signal_name(11))
--> SIGSEGV
