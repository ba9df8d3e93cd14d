-- The options of constructors: one table, which stands before a handler and otherwise last. All are read here, and what
-- nobody asks for is refused.
local text = require "uplua.base.text"

local option_table = {}

-- split(given, fn): both as they are, or, where the options were left out, nil and the function.
function option_table.split(given, fn)
  if fn == nil and type(given) == "function" then return nil, given end
  return given, fn
end

-- read(name, given, [allowed], [level]) → a new table with the options that constructor NAME was GIVEN. ALLOWED: option
-- → function(value) that returns the value to keep, or nil and what is wrong; [1] is the option that a number or a
-- string stands for, in the place of the table or first in it. Errors are raised at LEVEL (of the caller; 2 by default:
-- the user's line if the caller is the constructor; 0: without a line).
function option_table.read(name, given, allowed, level)
  local options, names, plain = {}, {}, allowed and allowed[1]
  for known in pairs(allowed or {}) do names[#names + 1] = known ~= 1 and known or nil end
  table.sort(names)
  local function refuse(format, ...)
    error(("%s: "):format(name) .. format:format(...), level == 0 and 0 or (level or 2) + 2)
  end
  if plain and (type(given) == "number" or type(given) == "string") then given = { given } end
  if type(given or {}) ~= "table" or getmetatable(given) then
    refuse("options are a table%s, not a %s", names[1] and (", as in { %s = … }"):format(names[1]) or "", type(given))
  end
  for option, value in pairs(given or {}) do
    if option == 1 and plain then option = plain end
    local check = option ~= 1 and allowed and allowed[option]
    if not check then
      local known = text.did_you_mean(tostring(option), names)
      if known == "" then known = #names > 0 and "; it has " .. table.concat(names, ", ") or "; it has none" end
      refuse("unknown option '%s'%s", tostring(option), known)
    end
    if options[option] ~= nil then refuse("option '%s' is given twice", option) end
    local kept, message = check(value)
    if kept == nil then refuse("option '%s': %s", option, message) end
    options[option] = kept
  end
  return options
end

-- named(declaration): the options in a table that also is a list: what has a name, and is not false.
function option_table.named(declaration)
  local given = {}
  for key, value in pairs(declaration) do
    if type(key) ~= "number" and value then given[key] = value end
  end
  return given
end

-- Checks for ALLOWED.

-- integer(low, high): whole numbers in this range.
function option_table.integer(low, high)
  return function(value)
    if type(value) == "number" and value >= low and value <= high and value == math.floor(value) then return value end
    return nil, ("%s is not a whole number from %.0f to %.0f"):format(text.shown(value), low, high)
  end
end
option_table.positive = option_table.integer(1, 2 ^ 32 - 1)

-- check(words, keep): the values of which keep(value) makes what is kept, and not nil. WORDS tell which these are.
function option_table.check(words, keep)
  return function(value)
    local kept = keep(value)
    if kept ~= nil then return kept end
    return nil, ("it is %s, not %s"):format(words, text.shown(value))
  end
end

local function of_type(kind, words)
  return option_table.check(words, function(value) if type(value) == kind then return value end end)
end
option_table.boolean, option_table.number = of_type("boolean", "true or false"), of_type("number", "a number")
option_table.text = of_type("string", "a text")
option_table.name = option_table.check("letters, digits and _, as a variable's name", function(value)
  return type(value) == "string" and value:match "^[%a_][%w_]*$" or nil
end)

return option_table
