-- report.run in 1.0, on the shop
local up = require "uplua"
local report = require "uplua.stack_report"
arg = { [0] = "mine.lua", "--top", "1" }
local options = up.args { "mine.lua [options]", report.options "functions" }
local n = up.count()
up.uprobe("./shop:checksum", function(e) n[e:ustack(2)]:inc() end)
report.run(options, { numbers = n, noun = "call" })
--> Self   Self %              Total  Total %  Function  File
-->   86  100.0 %  @@@@@@@@@@     86  100.0 %  checksum  shop
--> 86 calls in 2 functions, of which the first 1 are above
