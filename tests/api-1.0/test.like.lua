-- test.like in 1.0
local test = require "uplua.test"
test.like("23 primes", "^%d+ ", "a number first")
--> ok 1 - a number first
--> 1..1
