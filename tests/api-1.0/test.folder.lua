-- test.folder in 1.0
local test = require "uplua.test"
local file = assert(io.open(test.folder() .. "/x", "w"))
test.ok(file:write "text", "files can be written there")
file:close()
--> ok 1 - files can be written there
--> 1..1
