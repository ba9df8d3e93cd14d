-- Prints the opcodes of the LuaJIT that runs it, in numeric order, for compile/bytecode.h:
--     luajit src/compile/opcodes.lua > build/opcodes.h
-- It must be the LuaJIT that uplua is linked with: the numbers differ between releases.

local names = require("jit.vmdef").bcnames -- one string, six characters per opcode

print("/* Made by src/compile/opcodes.lua from the jit.vmdef of " .. jit.version .. ". */")
for name in names:gmatch("......") do
    print("OPCODE(" .. name:match("%S+") .. ")")
end
