-- TestProcess.stop in 1.0
local test = require "uplua.test"
local p = test.start { "sleep", "100" }
p:stop "INT"
test.ok(not p:is_running(), "it has ended")
--> ok 1 - it has ended
--> 1..1
