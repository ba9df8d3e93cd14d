-- What is meant by an entry that is right and does something else.
local advice = {}

-- Whether SOURCE, an entry that is to be run, is a wish to leave: `exit`, `quit` or `quit()`, where the session has no
-- such name of its own.
function advice.leaves(source)
  local word = source:match "^%s*(%l+)%s*$" or source:match "^%s*(%l+)%s*%(%s*%)%s*$"
  return (word == "quit" or word == "exit") and rawget(_G, word) == nil
end

local function count(source, name)
  local n = 0
  for word in source:gmatch "[%a_][%w_]*" do
    if word == name then n = n + 1 end
  end
  return n
end

-- On SOURCE, an entry that has run: nil, or why what it has made is not there any more.
function advice.behind(source)
  local names, name, rest = {}, source:match "^%s*local%s+([%a_][%w_]*)(.*)$"
  if name == "function" then name, rest = rest:match "^%s+([%a_][%w_]*)(.*)$" end
  while name do
    if count(source, name) > 1 then return nil end -- it has served its purpose
    names[#names + 1] = name
    name, rest = rest:match "^%s*,%s*([%a_][%w_]*)(.*)$"
  end
  if #names == 0 then return nil end
  return ("%s: a local ends with the entry that it stands in; without 'local' it stays")
    :format(table.concat(names, ", "))
end

return advice
