-- Expressions as users give them with --key, --sum and --value: EXPR, NAME=EXPR or NAME:UNIT=EXPR.
local args = require "uplua.args"

local named = {}

local UNITS = { number = true, count = true, bytes = true, ns = true }

-- ONE as the user gives it with --WHAT, or { expression, field, title }: see named.list.
function named.one(one, what)
  if type(one) == "table" then return { source = one[1], field = one[2], name = one[3] } end
  local name, unit, source = one:match "^%s*([%a_\128-\255][%w_ \128-\255]*):?(%l*)=([^=].*)$"
  if unit and unit ~= "" and not UNITS[unit] then
    args.fail("--%s %s: there is no unit '%s'; units are bytes, count, ns, number", what, one, unit)
  end
  source = source or one
  unit = unit ~= "" and unit or source == "e.elapsed" and "ns" or nil
  return { source = source, unit = unit, name = name or one, named = name ~= nil, field = name or one }
end

-- LIST, expressions as the user gives them with --WHAT, as tables: source; unit; name, what the column is titled;
-- field, of rows; named, whether the user has named it.
function named.list(list, what)
  local list_of = {}
  for i, one in ipairs(list) do list_of[i] = named.one(one, what) end
  return list_of
end

return named
