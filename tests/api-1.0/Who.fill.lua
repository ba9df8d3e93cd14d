-- who:fill in 1.0
local row = require "uplua.by".new "process":fill({ n = 23 }, { "shop", 4242 })
print(row.comm, row.pid, row.n)
--> shop	4242	23
