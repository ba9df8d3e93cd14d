-- tools/sizes.lua FILE…   names functions of more than 80 lines and files of more than 600
--
-- Flat switches are excepted: one case for each operation, which nobody reads from its begin to its end.
local util = require "jit.util"

local FUNCTION_LINES, FILE_LINES = 80, 600
local FLAT = {
  ["src/compile/front/build.c"] = "translate",   -- one case for each bytecode
  ["src/compile/infer/rules.c"] = "infer_value", -- one for each operation of the IR
  ["src/compile/lower/lower.c"] = "value_lower", -- the same
  ["src/unwind/cfa.c"] = "execute_extended",     -- one for each call frame instruction
}

local bad = false
local function complain(format, ...)
  io.stderr:write("lint: ", format:format(...), "\n")
  bad = true
end

-- C: a function's body stands between lines that are { and }; its name is in the lines before.
local function check_c(file, lines)
  local start, name
  for number, line in ipairs(lines) do
    if line == "{" then
      start = number
      local at = number - 1
      while at > 1 and lines[at]:find "^%s" do at = at - 1 end
      name = lines[at]:match "([%w_]+)%(" or "?"
    elseif line == "}" and start then
      local size = number - start + 2
      if size > FUNCTION_LINES and FLAT[file] ~= name then
        complain("%s:%d: %s has %d lines", file, start, name, size)
      end
      start = nil
    end
  end
end

-- Lua: LuaJIT knows where each function begins and ends.
local function check_lua(file)
  local chunk = loadfile(file)
  if not chunk then return end -- of a later Lua, as a test's input
  local function walk(proto, is_chunk)
    local info = util.funcinfo(proto)
    local size = info.lastlinedefined - info.linedefined + 1
    if not is_chunk and size > FUNCTION_LINES then
      complain("%s:%d: a function of %d lines", file, info.linedefined, size)
    end
    for k = -1, -math.huge, -1 do
      local constant = util.funck(proto, k)
      if constant == nil then break end
      if type(constant) == "proto" then walk(constant) end
    end
  end
  walk(chunk, true)
end

for _, file in ipairs(arg) do
  local lines = {}
  for line in io.lines(file) do lines[#lines + 1] = line end
  if #lines > FILE_LINES then complain("%s has %d lines", file, #lines) end
  if file:find "%.lua$" then check_lua(file) else check_c(file, lines) end
end
os.exit(bad and 1 or 0)
