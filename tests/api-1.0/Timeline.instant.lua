-- t:instant in 1.0
local path = os.tmpname()
local t = require "uplua.timeline".new(path)
print(t:instant(t:track { process = 1, thread = 2, name = "a" }, "signal", 1000, { number = 9 }), t:close())
print(io.open(path):read "*a":match '{"ph":"i"[^\n]*')
os.remove(path)
--> true	true
--> {"ph":"i","s":"t","pid":1,"tid":2,"name":"signal","ts":1.000,"args":{"number":9}}
