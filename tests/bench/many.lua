-- A thousand probes of the C library, each counted by its function, attached to PID and detached again:
--   uplua many.lua LIBC -- PID
local up = require "uplua"
local core = require "uplua.core"

local specs = {}
for i, site in ipairs((core.probe.resolve(arg[1] .. ":*"):list())) do
  if i <= 1000 then specs[i] = ("%s:%#x"):format(arg[1], site.address) end
end
assert(#specs == 1000, "the library has too few functions")

local calls = up.count()
up.uprobe(specs, function(e) calls[e.func]:inc() end)
up.after(0, function() up.exit() end)
