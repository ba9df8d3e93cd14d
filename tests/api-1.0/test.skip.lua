-- test.skip in 1.0
local test = require "uplua.test"
test.skip "there is no gcc here"
--> ok 1 # SKIP there is no gcc here
--> 1..1
