-- up.cast in 1.0, on the shop
local up = require "uplua"
local ffi = require "ffi"
ffi.cdef "struct order { struct order *previous; long id; unsigned price; };"
local v = up.var(0)
up.uprobe("./shop:sell", function(e) v:set(up.cast("struct order *", e.arg0).id) end)
up.at_exit(function() print(v:get()) end)
--> 1100
