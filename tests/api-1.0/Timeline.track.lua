-- t:track in 1.0
local path = os.tmpname()
local t = require "uplua.timeline".new(path)
local function thread() return t:track { process = 1, thread = 1, name = "init" } end
local function cpu() return t:track { process = "CPUs", name = "CPU 0" } end
print(thread() == thread(), cpu() == cpu(), thread() == cpu())
t:close()
print(io.open(path):read "*a":match '"pid":1,"tid":1,"args":{"name":"init"}')
os.remove(path)
--> true	true	false
--> "pid":1,"tid":1,"args":{"name":"init"}
