-- TestProcess.is_running in 1.0
local test = require "uplua.test"
test.ok(test.start { "sleep", "100" }:is_running(), "it has not ended")
--> ok 1 - it has not ended
--> 1..1
