-- up.args in 1.0
local up = require "uplua"
arg = { [0] = "mine.lua", "--top", "5", "more" }
local options = up.args { "mine.lua [more]", { "top", "N", "number", 10, "so many" }, { "flag", "a flag" } }
print(options.top, options.flag, options[1])
--> 5	false	more
