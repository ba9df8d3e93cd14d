-- What the compiler knows by name and turns into operations of the kernel; in user space these functions do the same on
-- Lua values.
local ffi = require "ffi"

local builtin = {}

-- A value cut to a C integer type: numbers up to 2^53 come back as numbers, others as int64_t or uint64_t cdata.
local function cast(name, ctype)
  local box, narrow = ffi.typeof(ctype .. "[1]"), ffi.typeof(ctype)
  builtin[name] = function(value)
    local of_number = type(value) == "number"
    if not of_number and type(value) ~= "cdata" then
      error(("%s: a number is expected, not a %s"):format(name, type(value)), 2)
    end
    -- LuaJIT's compiler makes 2^63 of a negative number that is cast to uint64_t at once.
    local wide = of_number and value < 2 ^ 63 and "int64_t" or "uint64_t"
    local kept = box()
    kept[0] = ffi.cast(narrow, ffi.cast(wide, value))
    local result = kept[0]
    if type(result) == "cdata" and result < 2 ^ 53 and (name == "u64" or result > -2 ^ 53) then
      return tonumber(result)
    end
    return result
  end
  builtin["read_" .. name] = function()
    error("up.read_" .. name .. " reads the traced program's memory: it is for handlers", 2)
  end
end

for bits = 3, 6 do
  cast("i" .. 2 ^ bits, "int" .. 2 ^ bits .. "_t")
  cast("u" .. 2 ^ bits, "uint" .. 2 ^ bits .. "_t")
end

for _, name in ipairs { "str", "kstr", "buf", "kbuf" } do
  builtin[name] = function()
    error(("up.%s reads memory as the handler runs: it is for handlers"):format(name), 2)
  end
end

function builtin.sym()
  error("up.sym names an address as the handler runs: it is for handlers; the script has up.symbol(pid, address)", 2)
end

function builtin.cast()
  error("up.cast gives a type to an address in the traced program: it is for handlers; " ..
        "ffi.cast is for the script's own memory", 2)
end

function builtin.kcast()
  error("up.kcast gives a type to an address in the kernel: it is for handlers", 2)
end

return builtin
