-- t:span in 1.0
local path = os.tmpname()
local t = require "uplua.timeline".new(path)
print(t:span(t:track { process = 1, thread = 2, name = "a" }, "work", 1000, 3500, { bytes = 101 }), t:close())
print(io.open(path):read "*a":match '{"ph":"X"[^\n]*')
os.remove(path)
--> true	true
--> {"ph":"X","pid":1,"tid":2,"name":"work","ts":1.000,"dur":2.500,"args":{"bytes":101}}
