-- Prints the opcodes of the LuaJIT that runs it, in numeric order, for compile/front/bytecode.h:
--     luajit src/compile/front/opcodes.lua > build/opcodes.h
-- It must be the LuaJIT that uplua is linked with: the numbers differ between releases.

local names = require("jit.vmdef").bcnames -- one string, six characters per opcode

-- The operators &, |, ~, <<, >>, ~>> came in July 2026: without them in the linked LuaJIT the compiler's cases stay
-- unused.
local newer = { "BNOT", "BAND", "BOR", "BXOR", "BSHL", "BSHR", "BSAR" }

print("/* Made by src/compile/front/opcodes.lua from the jit.vmdef of " .. jit.version .. ". */")
local linked = {}
for name in names:gmatch("......") do
    name = name:match("%S+")
    linked[name] = true
    print("OPCODE(" .. name .. ")")
end
print("#ifdef LACKING_OPCODE")
for _, name in ipairs(newer) do
    if not linked[name] then
        print("LACKING_OPCODE(" .. name .. ")")
    end
end
print("#endif")
