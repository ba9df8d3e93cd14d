-- stat.columns in 1.0
local options = { by = "e.comm", ratios = { "read/getpid" } }
local counts = require "uplua.stat".new({ "syscall:getpid", "syscall:read" }, options)
for _, column in ipairs(counts.columns) do print(column[1], column[2], column[3]) end
require "uplua".exit()
--> by	e.comm	text
--> getpid	getpid	count
--> read	read	count
--> read/getpid	read/getpid	ratio
