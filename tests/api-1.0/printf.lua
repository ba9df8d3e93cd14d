-- up.printf in 1.0
local up = require "uplua"
up.printf("%d %s %x\n", 2^53, "a\27b", 255)
--> 9007199254740992 a\x1bb ff
