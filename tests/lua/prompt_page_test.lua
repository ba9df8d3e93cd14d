-- doc/prompt.md tells the truth: who types it sees what it shows (tests/lua/typed.lua). A sample, with UPLUA_LONG all.
-- Runs once: what is typed is typed on the kernel as it is.
local tap = require "tap"
local target = require "target"

require "typed".test "doc/prompt.md"
target.done()
tap.done_testing()
