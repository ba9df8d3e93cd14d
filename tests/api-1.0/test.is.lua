-- test.is in 1.0
local test = require "uplua.test"
test.is({ 23, { a = "b" } }, { 23, { a = "b" } }, "tables that hold the same are equal")
--> ok 1 - tables that hold the same are equal
--> 1..1
