-- text.thousands in 1.0
local text = require "uplua.text"
print(text.thousands(1204551))
--> 1,204,551
