-- Arguments of system calls as people know them: flags and constants by their names, by what uplua.syscalls.signatures
-- says of each call.
local numbers    = require "uplua.syscalls.numbers"
local signatures = require "uplua.syscalls.signatures"

local syscall = {}

-- The words of a call's signature that are more than a number by itself. A descriptor is a number here: whose it is
-- systrace.lua shows.
local PLAIN = { fd = true, int = true, uint = true, long = true, size = true, ptr = true, hex = true, hex32 = true }

local known = {} -- by name of the call: its decoders by place

local function decoders_of(name)
  if known[name] then return known[name] end
  local decoders, at = {}, 0
  known[name] = decoders
  for word in (signatures[name] or ""):gsub("[=!].*$", ""):gmatch "%S+" do
    at = at + 1
    local kind = word:match "^[%w_]+$"
    decoders[at] = kind and not PLAIN[kind] and numbers.arguments[kind] or nil
  end
  return decoders
end

-- What decoders ask for besides registers.
local ASKED = { descriptor = function(_, fd) return ("%d"):format(fd) end, cwd = function() return "AT_FDCWD" end }

-- text(name, place, value, registers): the text of VALUE, argument PLACE (from 1) of the call NAME; nil where a number
-- says as much. REGISTERS: a function of the place of another argument, its value.
function syscall.text(name, place, value, registers)
  local decode = decoders_of(name)[place]
  if not decode then return nil end
  return decode(setmetatable({ [place] = value }, {
    __index = function(_, key) return ASKED[key] or type(key) == "number" and registers(key) or nil end,
  }), place)
end

return syscall
