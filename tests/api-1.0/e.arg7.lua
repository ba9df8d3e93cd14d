-- e.arg7 in 1.0, on the shop
local up = require "uplua"
local n = up.count()
local fields = jit.arch == "arm64" -- x86_64 passes six in registers
if fields then up.uprobe("./shop:sell", function(e) if e.arg7 == e.arg7 then n:inc() end end) end
up.uprobe("./shop:sell", function(e) if not fields then n:inc() end end)
up.at_exit(function() print(n:get()) end)
--> 101
