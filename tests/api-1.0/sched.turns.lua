-- sched.turns in 1.0, on the shop
local up = require "uplua"
local sched = require "uplua.sched"
local wrong = 0
sched.turns(function(turn) if turn.to < turn.from or turn.pid == 0 then wrong = wrong + 1 end end)
up.at_exit(function() print(wrong) end)
--> 0
