-- sched.LETTERS in 1.0
local sched = require "uplua.sched"
print(sched.LETTERS.S, sched.LETTERS.D, sched.LETTERS.T, sched.LETTERS.R)
--> sleeping	disk sleep	stopped	nil
