-- up.task_state_name in 1.0
local up = require "uplua"
print(up.task_state_name(1))
--> sleeping
