-- The cases of doc/cases/ tell the truth: who types them sees what they show (tests/lua/typed.lua). A sample, with
-- UPLUA_LONG all. Runs once: what is typed is typed on the kernel as it is.
local tap = require "tap"
local target = require "target"

for _, name in ipairs { "slow-build", "memory", "missing-file", "disk-writes", "waits" } do
  require "typed".test(("doc/cases/%s.md"):format(name))
end
target.done()
tap.done_testing()
