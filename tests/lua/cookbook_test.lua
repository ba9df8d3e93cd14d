-- The cookbook tells the truth: who types it sees what it shows (tests/lua/typed.lua). A sample, with UPLUA_LONG all.
-- Runs once: what is typed is typed on the kernel as it is.
local tap = require "tap"
local target = require "target"

require "typed".test "doc/cookbook.md"

local questions = select(2, target.read "doc/cookbook.md":gsub("%f[^\n%z]## ", ""))
local links = select(2, target.read "doc/cookbook.md":gsub("%f[^\n%z]%- %[[^\n]-%]%(#", ""))
tap.is(links, questions, "its head has a link to each question")
tap.is(tonumber(target.read "README.md":match "answers (%d+) questions"), questions, "README tells how many they are")
target.done()
tap.done_testing()
