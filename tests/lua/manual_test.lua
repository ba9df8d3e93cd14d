-- The manual tells the truth: every example of doc/handlers.md, run on examples/shop.c, prints what the manual says that it prints.
local examples = require "examples"
local tap = require "tap"
local target = require "target"

local MANUAL = "doc/handlers.md"

-- Where in a function a call stands is up to the C compiler.
local function without_offsets(text) return (text:gsub("%+0x%x+", "+0x…")) end

-- What uplua prints for CODE, the shop's own line and uplua's "tracing …" left out.
local function run(code)
  local result = target.shell(([[
    cd build/examples
    ../../uplua -e %s -- ./shop >"$D/out" 2>&1 </dev/null
  ]]):format(target.quote(code)))
  local lines = {}
  for line in result.out:gmatch "[^\n]+" do
    if not line:match "^%d+ orders, income" and not line:match "^uplua: tracing" then lines[#lines + 1] = line:match "^(.-)%s*$" end
  end
  return table.concat(lines, "\n")
end

local list = examples.of(MANUAL)
tap.ok(#list >= 17, "the manual has examples: " .. #list)
for _, example in ipairs(list) do
  local name = ("%s:%d"):format(MANUAL, example.line)
  if tap.ok(example.output, name .. " says what it prints") then
    tap.is(without_offsets(run(example.code)), without_offsets(example.output), name .. " prints it")
  end
end
target.done()
tap.done_testing()
