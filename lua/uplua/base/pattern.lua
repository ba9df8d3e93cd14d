-- Patterns of names, as in specs: * ? and [...], as in the shell.
local pattern = {}

-- True if WANTED matches the whole NAME.
function pattern.matches(wanted, name)
  local plain = wanted:gsub("[%^%$%(%)%%%.%+%-]", "%%%0"):gsub("%[(.-)%]", function(set)
    return "[" .. set:gsub("%%%-", "-"):gsub("^!", "^") .. "]"
  end)
  return name:find("^" .. plain:gsub("%*", ".*"):gsub("%?", ".") .. "$") ~= nil
end

return pattern
