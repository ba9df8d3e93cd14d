-- report.options in 1.0
local up = require "uplua"
local report = require "uplua.stack_report"
arg = { [0] = "mine.lua", "--functions", "--top", "3" }
local options = up.args { "mine.lua [options]", report.options "stacks" }
print(options.functions, options.top, options.lines, options.interval)
print(pcall(report.options, "lines") == false)
--> true	3	false	nil
--> true
