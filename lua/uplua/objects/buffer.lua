-- Buffers on the script's side: what up.buf has read in a handler. One object for equal buffers, so that it can be a
-- key of a Lua table:
--
--   b:bytes()               the bytes that were kept, a string, which may contain NULs
--   #b                      their number
--   b.size                  how many there were: more than #b where the buffer was cut
--   b:find(…), b:starts(…)  of the bytes, as of a string
--   tostring(b)             the bytes, escaped, and "…" where the buffer was cut
local text = require "uplua.base.text"

local buffer = {}
local methods = {}

-- A userdata, of which LuaJIT takes the length; a table's it would not.
local prototype = newproxy(true)
local meta = getmetatable(prototype)
-- An object's state: { bytes =, size = }, in its environment.
local set_state, state_of = debug.setfenv, debug.getfenv
local whole, cut = setmetatable({}, { __mode = "v" }), setmetatable({}, { __mode = "v" })

-- The object of BYTES, a string, which are the first of SIZE.
function buffer.of(bytes, size)
  local known, key = whole, bytes
  if size ~= #bytes then known, key = cut, text.integer(size) .. ":" .. bytes end
  local object = known[key]
  if not object then
    object = set_state(newproxy(prototype), { bytes = bytes, size = size })
    known[key] = object
  end
  return object
end

function buffer.is(value) return type(value) == "userdata" and getmetatable(value) == meta end

-- The bytes of VALUE, a string or a buffer, and how many there were; nil for anything else.
function buffer.parts(value)
  if type(value) == "string" then return value, #value end
  if not buffer.is(value) then return nil end
  local state = state_of(value)
  return state.bytes, state.size
end

-- The bytes of VALUE, a string or a buffer, in hexadecimal, "7f454c46", with SEPARATOR between them; "…" follows what
-- was cut.
function buffer.hex(value, separator)
  local bytes, size = buffer.parts(value)
  if not bytes then error(("hex: a string or a buffer is expected, not a %s"):format(type(value)), 2) end
  if type(separator or "") ~= "string" then error("hex: the separator is a string, not a " .. type(separator), 2) end
  local digits = {}
  for i = 1, #bytes do digits[i] = ("%02x"):format(bytes:byte(i)) end
  return table.concat(digits, separator) .. (size ~= #bytes and "…" or "")
end

function methods:bytes() return state_of(self).bytes end
function methods:find(...) return state_of(self).bytes:find(...) end
function methods:starts(prefix) return state_of(self).bytes:sub(1, #prefix) == prefix end

function meta.__index(object, name)
  if name == "size" then return state_of(object).size end
  return methods[name]
end

function meta.__newindex() error("a buffer cannot be changed: b:bytes() is a string", 2) end
function meta.__len(object) return #state_of(object).bytes end

function meta.__tostring(object)
  local state = state_of(object)
  return text.escape(state.bytes) .. (state.size ~= #state.bytes and "…" or "")
end

return buffer
