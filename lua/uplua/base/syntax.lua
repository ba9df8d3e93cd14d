-- What to write instead of what other languages have, and Lua's parser refuses: bpftrace's and C's, above all.
local syntax = {}

-- What stands in a line that cannot be parsed, a pattern, and what Lua has for it.
local FOREIGN = {
  { "[%w_%]%)]%s*%+%+", "Lua has no ++: say n:inc() of a count, x = x + 1 of a variable" },
  { "[%w_%]%)]%s*%+=", "Lua has no +=: say n:add(x) of a count or sum, a = a + x of a variable" },
  { "[%w_%]%)]%s*[-*/%%|&^]=", "Lua has no -= and its like: say a = a - x" },
  { "!=", "\"is not\" is ~= in Lua" },
  { "&&", "\"and\" is a word in Lua: a and b" },
  { "||", "\"or\" is a word in Lua: a or b" },
  { "@[%w_]*%s*[%[=]", "a map is an object in Lua: n = up.count(), and n[key]:inc() in the handler" },
  { "%$[%a_]", "variables have no $ in Lua: local x = e.arg0" },
  { "!%s*[%a_(]", "\"not\" is a word in Lua: not a" },
}

-- LINE without its texts and its comment.
local function bare(line)
  return (line:gsub("\\.", ""):gsub('"[^"]*"', '""'):gsub("'[^']*'", "''"):gsub("%-%-.*", ""))
end

-- The parser's MESSAGE about SOURCE, with what to write where its line has what Lua has not.
function syntax.explained(message, source)
  local number, near = message:match "^[^\n]-:(%d+): .* near '(.-)'$"
  if not number then return message end
  local i = 0
  for line in (source .. "\n"):gmatch "([^\n]*)\n" do
    i = i + 1
    line = i == tonumber(number) and bare(line)
    for _, one in ipairs(line and FOREIGN or {}) do
      local at = line:find(one[1])
      if at and line:match(one[1]):find(near, 1, true) then return ("%s; %s"):format(message, one[2]) end
    end
  end
  return message
end

return syntax
