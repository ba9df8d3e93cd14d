-- The terminal that standard output is, or is not.
local ffi      = require "ffi"
local contract = require "uplua.contract"
local core     = require "uplua.core"

local terminal = {}

-- True if standard output is a terminal whose cursor can be moved.
function terminal.interactive()
  local kind = core.system.environment "TERM"
  return core.system.is_terminal(1) and kind ~= nil and kind ~= "" and kind ~= "dumb"
end

-- Its columns and rows; nil where standard output is no terminal, or one that does not know. $COLUMNS goes before what
-- it says.
function terminal.size()
  if not core.system.is_terminal(1) then return nil end
  local size = ffi.new "struct uplua_winsize"
  local known = contract.C.ioctl(1, contract.TIOCGWINSZ, size) == 0 and size.ws_col > 0
  local columns = tonumber(core.system.environment "COLUMNS") or known and size.ws_col or nil
  return columns, known and size.ws_row > 0 and size.ws_row or nil
end

-- True if characters beyond ASCII can be drawn with: on a terminal, and the locale says UTF-8.
function terminal.unicode()
  if not core.system.is_terminal(1) then return false end
  for _, name in ipairs { "LC_ALL", "LC_CTYPE", "LANG" } do
    local value = core.system.environment(name)
    if value and value ~= "" then return value:upper():find "UTF%-?8" ~= nil end
  end
  return false
end

-- True if colours are wanted: on a terminal that can, and without $NO_COLOR (no-color.org).
function terminal.color()
  local refused = core.system.environment "NO_COLOR"
  return terminal.interactive() and not (refused and refused ~= "")
end

return terminal
