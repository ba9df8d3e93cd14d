-- stacks.changes in 1.0
local stacks = require "uplua.stacks"
for _, one in ipairs(stacks.changes({ ["main;parse"] = 3, ["main;send"] = 1 },
  { ["main;parse"] = 2, ["main;zip"] = 6 })) do
  print(one.name, one.before, one.now, one.change, one.total_before, one.total_now)
end
--> zip	0	75	75	0	75
--> parse	75	25	-50	75	25
--> send	25	0	-25	25	0
--> main	0	0	0	100	100
