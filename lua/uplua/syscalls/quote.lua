-- Bytes as strace prints them: between quotes, what cannot be printed escaped as C does it, in octal.
local bit = require "bit"
local ffi = require "ffi"
local C   = require("uplua.contract").C

local QUOTE, BACKSLASH, ZERO = 34, 92, 48
local NAMED = { [9] = "t", [10] = "n", [11] = "v", [12] = "f", [13] = "r", [QUOTE] = '"', [BACKSLASH] = "\\" }

-- Of each byte: 0, what it is written as itself; 1, as octal digits; or the letter behind the backslash.
local how = ffi.new "uint8_t[256]"
for byte = 0, 255 do
  how[byte] = NAMED[byte] and NAMED[byte]:byte() or (byte < 32 or byte > 126) and 1 or 0
end

-- The characters that are written as themselves.
local PLAIN = ""
for byte = 1, 255 do PLAIN = how[byte] == 0 and PLAIN .. string.char(byte) or PLAIN end

local room, size = ffi.new "uint8_t[1024]", 1024

-- BYTES in quotes; CUT: there are more, "abc"....
local function quote(bytes, cut)
  local length = #bytes
  if tonumber(C.strspn(bytes, PLAIN)) == length then return cut and '"' .. bytes .. '"...' or '"' .. bytes .. '"' end
  if size < 4 * length + 8 then
    size = 4 * length + 8
    room = ffi.new("uint8_t[?]", size)
  end
  local to, at = room, 1
  to[0] = QUOTE
  for i = 0, length - 1 do
    local byte = bytes:byte(i + 1) -- by a pointer into the string LuaJIT may load from the offset alone
    local kind = how[byte]
    if kind == 0 then
      to[at], at = byte, at + 1
    elseif kind ~= 1 then
      to[at], to[at + 1], at = BACKSLASH, kind, at + 2
    else -- as short as it can be told from a digit that follows
      to[at], at = BACKSLASH, at + 1
      local before_digit = i + 1 < length and bytes:byte(i + 2) >= ZERO and bytes:byte(i + 2) < ZERO + 8
      if byte >= 64 or before_digit then to[at], at = ZERO + bit.rshift(byte, 6), at + 1 end
      if byte >= 8 or before_digit then to[at], at = ZERO + bit.band(bit.rshift(byte, 3), 7), at + 1 end
      to[at], at = ZERO + bit.band(byte, 7), at + 1
    end
  end
  to[at] = QUOTE
  local text = ffi.string(to, at + 1)
  return cut and text .. "..." or text
end

-- BYTES in quotes, each as two hexadecimal digits.
local function quote_hex(bytes, cut)
  local parts = {}
  for i = 1, #bytes do parts[i] = ("\\x%02x"):format(bytes:byte(i)) end
  return '"' .. table.concat(parts) .. (cut and '"...' or '"')
end

return { quote = quote, hex = quote_hex }
