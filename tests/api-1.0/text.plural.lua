-- text.plural in 1.0
local text = require "uplua.text"
print(text.plural(1, "stack"), text.plural(1204, "stack"), text.plural(2, "entry", "entries"))
--> 1 stack	1,204 stacks	2 entries
