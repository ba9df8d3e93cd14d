-- TestProcess.wait_for in 1.0
local test = require "uplua.test"
test.is(test.start { "echo", "a", "prime", "23" }:wait_for "(%a+) 23", "prime", "what it prints")
--> ok 1 - what it prints
--> 1..1
