-- types.kernel in 1.0
local types = require "uplua.types"
local task = types.kernel "struct task_struct"
print(task.name, task.size > 1000)
--> struct task_struct	true
