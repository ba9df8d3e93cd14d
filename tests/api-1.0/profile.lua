-- up.profile in 1.0
local up = require "uplua"
local seen = up.var(false)
up.profile(99, function(e) seen:set(true) end)
up.after("500ms", function() up.exit() end)
local function work() for i = 1, 1e6 do math.sin(i) end end
up.every("1ms", work)
up.at_exit(function() print(seen:get()) end)
--> true
