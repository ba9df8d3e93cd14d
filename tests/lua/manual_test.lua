-- The manual tells the truth: every example of doc/handlers.md, run on examples/shop.c, prints what the manual says that it prints.
local tap = require "tap"
local target = require "target"

local MANUAL = "doc/handlers.md"

-- The ```lua blocks with the ```text that follows each, and the line where each begins.
local function examples()
  local list, block, language, number = {}, nil, nil, 0
  for line in io.lines(MANUAL) do
    number = number + 1
    local fence = line:match "^```(%a*)"
    if block and fence then
      if language == "lua" then
        list[#list + 1] = { code = table.concat(block, "\n"), line = number - #block }
      elseif language == "text" then
        list[#list].output = table.concat(block, "\n")
      end
      block = nil
    elseif fence then
      block, language = {}, fence
    elseif block then
      block[#block + 1] = line
    end
  end
  return list
end

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

local list = examples()
tap.ok(#list >= 17, "the manual has examples: " .. #list)
for _, example in ipairs(list) do
  local name = ("%s:%d"):format(MANUAL, example.line)
  if tap.ok(example.output, name .. " says what it prints") then
    tap.is(without_offsets(run(example.code)), without_offsets(example.output), name .. " prints it")
  end
end
target.done()
tap.done_testing()
