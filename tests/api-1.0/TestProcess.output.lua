-- TestProcess.output in 1.0
local test = require "uplua.test"
local p = test.start { "echo", "23" }
p:wait_for "%d"
test.is(p:output(), "23\n", "all that it has printed")
--> ok 1 - all that it has printed
--> 1..1
