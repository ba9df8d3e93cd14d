-- The manual tells the truth: every example of doc/handlers.md, run on examples/shop.c, prints what the manual says
-- that it prints.
local examples = require "examples"
local tap = require "tap"
local target = require "target"

local MANUAL = "doc/handlers.md"

-- Where in a function a call stands is up to the C compiler.
local function without_offsets(text) return (text:gsub("%+0x%x+", "+0x…")) end

local list = examples.of(MANUAL)
tap.ok(#list >= 17, "the manual has examples: " .. #list)
for _, example in ipairs(list) do
  local name = ("%s:%d"):format(MANUAL, example.line)
  if examples.lacks_kernel(example.code) then -- the machine of tests/vm runs it
    tap.is(examples.explain(example.code).err, "", name .. " compiles")
  elseif tap.ok(example.output, name .. " says what it prints") then
    tap.is(without_offsets(examples.run(example.code)), without_offsets(example.output), name .. " prints it")
  end
end
target.done()
tap.done_testing()
