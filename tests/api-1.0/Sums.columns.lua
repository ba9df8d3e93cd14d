-- sums.columns in 1.0
local by = require "uplua.by"
local sums = by.sums { "size:bytes=e.arg0", "e.arg1" }
for _, column in ipairs(sums.columns) do print(column[1], column[2], column[3]) end
print(#by.sums(nil).columns)
--> size	size	bytes
--> e.arg1	e.arg1	count
--> 0
