-- pprof.write in 1.0
local path = os.tmpname()
require "uplua.pprof".write(path, { ["main;serve"] = 23 })
local file = io.open(path)
print(file:read(2) == "\31\139")
file:close()
os.remove(path)
--> true
