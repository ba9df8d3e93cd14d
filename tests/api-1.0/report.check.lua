-- report.check in 1.0
local up = require "uplua"
local report = require "uplua.stack_report"
arg = { [0] = "mine.lua", "--stacks", "--lines" }
report.check(up.args { "mine.lua [options]", report.options "functions" })
print "goes on"
--> goes on
