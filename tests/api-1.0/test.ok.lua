-- test.ok in 1.0
local test = require "uplua.test"
test.ok(23 > 1, "23 is more than 1")
--> ok 1 - 23 is more than 1
--> 1..1
