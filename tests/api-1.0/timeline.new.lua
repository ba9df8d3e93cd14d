-- timeline.new in 1.0
local path = os.tmpname()
local t = require "uplua.timeline".new(path, { size = "1M" })
t:close()
print(#io.open(path):read "*a" > 0, tostring(t):match "timeline (/)", tostring(t):match "%d+ events")
os.remove(path)
--> true	/	0 events
