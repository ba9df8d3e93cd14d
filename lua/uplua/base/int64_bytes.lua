-- 64-bit integers as their eight bytes.
local ffi = require "ffi"

local int64_bytes = {}

-- LuaJIT 2.1 leaves out memory that a trace allocates if nobody but ffi.string reads it (allocation sinking overlooks
-- that reader): the bytes would be any. So this memory stays.
local memory = ffi.new "uint64_t[1]"

-- The bytes of VALUE: a number or an int64_t or uint64_t cdata.
function int64_bytes.of(value)
  memory[0] = value
  return ffi.string(memory, 8)
end

return int64_bytes
