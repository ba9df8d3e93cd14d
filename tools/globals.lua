-- tools/globals.lua FILE…   names globals that a file reads and neither Lua nor the file itself defines
--
-- Such a name is nil when it is needed, which may be where no test comes.
local bit, util, vmdef = require "bit", require "jit.util", require "jit.vmdef"

local OPERATION_BITS, NAME_LENGTH = 0xff, 6 -- of an instruction; of a name in vmdef.bcnames
local LUA = { arg = true }
for name in pairs(_G) do LUA[name] = true end

local function operation(instruction)
  local at = bit.band(instruction, OPERATION_BITS) * NAME_LENGTH
  return vmdef.bcnames:sub(at + 1, at + NAME_LENGTH):match "%S+"
end

-- Adds to READ and WRITTEN the globals of FN and of the functions in it.
local function visit(fn, read, written)
  for pc = 1, util.funcinfo(fn).bytecodes - 1 do
    local instruction = util.funcbc(fn, pc)
    local name = util.funck(fn, -1 - bit.rshift(instruction, 16))
    if operation(instruction) == "GGET" then read[name] = util.funcinfo(fn, pc).currentline end
    if operation(instruction) == "GSET" then written[name] = true end
  end
  local i = -1
  local constant = util.funck(fn, i)
  while constant ~= nil do
    if type(constant) == "proto" then visit(constant, read, written) end
    i = i - 1
    constant = util.funck(fn, i)
  end
end

local bad = false
for _, file in ipairs(arg) do
  local read, written = {}, {}
  visit(assert(loadfile(file)), read, written)
  for name, line in pairs(read) do
    if not LUA[name] and not written[name] then
      io.stderr:write(("lint: %s:%d: nothing defines '%s'\n"):format(file, line, name))
      bad = true
    end
  end
end
os.exit(bad and 1 or 0)
