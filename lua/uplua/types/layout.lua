-- A value as text: in one line, or indented where that would be long.
--
-- What is shown is a text, or a tree { open, close, { name, shown }, …, before = a text }: the name is nil in lists.
local text = require "uplua.base.text"

local layout = {}

-- SHOWN in one line.
function layout.line(shown)
  if type(shown) == "string" then return shown end
  local parts = {}
  for i = 3, #shown do
    local name, value = shown[i][1], layout.line(shown[i][2])
    parts[i - 2] = name and ("%s=%s"):format(name, value) or value
  end
  return ("%s%s%s%s"):format(shown.before or "", shown[1], table.concat(parts, ", "), shown[2])
end

-- SHOWN where its parts stand elsewhere: its address, if it has one, "0x55… {…}".
function layout.short(shown)
  if type(shown) == "string" or #shown < 3 then return layout.line(shown) end
  return ("%s%s…%s"):format(shown.before or "", shown[1], shown[2])
end

local STEP = "  "

local function add(lines, shown, head, indent, width)
  local line = indent .. head .. layout.line(shown)
  if type(shown) == "string" or #shown < 3 or text.width(line) <= width then
    lines[#lines + 1] = line
    return
  end
  lines[#lines + 1] = indent .. head .. (shown.before or "") .. shown[1]
  for i = 3, #shown do
    local name = shown[i][1]
    add(lines, shown[i][2], name and name .. " = " or "", indent .. STEP, width)
  end
  lines[#lines + 1] = indent .. shown[2]
end

-- SHOWN as a list of lines of WIDTH columns where that can be: what does not fit into one is indented. HEAD stands
-- before it, INDENT before each line.
function layout.lines(shown, head, indent, width)
  local lines = {}
  add(lines, shown, head or "", indent or "", width)
  return lines
end

return layout
