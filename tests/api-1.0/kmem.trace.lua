-- kmem.trace in 1.0, on the shop
local up = require "uplua"
local kmem = require "uplua.kmem"
local blocks, wrong = up.count(), up.count()
kmem.trace({ slabs = true }, { allocated = function(e, address, bytes, name)
  blocks:inc()
  if address == 0 or bytes <= 0 or name == "" then wrong:inc() end
end })
up.at_exit(function() print(blocks:get() > 0, wrong:get()) end)
--> true	0
