-- report.stack in 1.0, on the shop
local up = require "uplua"
local report = require "uplua.stack_report"
local stack, n = report.stack { user = true }, up.count()
up.uprobe("./shop:checksum", function(e) n[stack(e)]:inc() end)
up.at_exit(function() for s, k in n:pairs() do print(s:folded():match "[^;]*;[^;]*$", k) end end)
--> main;checksum	86
