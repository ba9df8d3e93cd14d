-- test.run in 1.0
local test = require "uplua.test"
local script = test.folder() .. "/mine.lua"
local file = assert(io.open(script, "w"))
file:write "print(23)"
file:close()
local run = test.run { script }
test.is({ run.status, run.text, run.ledger }, { 0, "23\n", {} }, "what a script says, as data")
--> ok 1 - what a script says, as data
--> 1..1
