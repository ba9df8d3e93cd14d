-- test.start in 1.0
local test = require "uplua.test"
local p = test.start { "sh", "-c", "echo $((22 + 1)); sleep 100" }
test.is(p:wait_for "%d+", "23", "it runs beside the test")
--> ok 1 - it runs beside the test
--> 1..1
