-- by.option in 1.0
local by = require "uplua.by"
print(by.option[1], by.option[2], by.option[3])
--> by,b	WHAT	string
