-- t:counter in 1.0
local path = os.tmpname()
local t = require "uplua.timeline".new(path)
print(t:counter(t:track { process = 1, name = "a" }, "waiting", 1000, 23), t:close())
print(io.open(path):read "*a":match '"name":"waiting"[^\n]*')
os.remove(path)
--> true	true
--> "name":"waiting","ts":1.000,"args":{"value":23}}
