-- sums:fill in 1.0
local row = require "uplua.by".sums(nil):take():fill({ n = 23 }, "key")
print(row.n)
--> 23
