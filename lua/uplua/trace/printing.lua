-- What a script's user wants printed of hits: a format in quotes and expressions of the event e, '"%s of %d", e.comm,
-- e.arg0'. The handler computes them, and its record has them as p1, p2 …
local failure = require "uplua.base.failure"
local text    = require "uplua.base.text"

local printing = {}

local CLOSING = { ["("] = ")", ["["] = "]", ["{"] = "}" }

-- SOURCE cut at the commas that are neither in quotes nor in brackets.
local function split(source)
  local parts, from, open, at = {}, 1, {}, 1
  while at <= #source do
    local c = source:sub(at, at)
    if c == '"' or c == "'" then
      repeat
        at = at + 1
        local inside = source:sub(at, at)
        if inside == "\\" then at = at + 1 end
      until inside == c or at > #source
    elseif CLOSING[c] then
      open[#open + 1] = CLOSING[c]
    elseif c == open[#open] then
      open[#open] = nil
    elseif c == "," and #open == 0 then
      parts[#parts + 1] = source:sub(from, at - 1)
      from = at + 1
    end
    at = at + 1
  end
  parts[#parts + 1] = source:sub(from)
  for i, part in ipairs(parts) do parts[i] = part:match "^%s*(.-)%s*$" end
  return parts
end

local function wrong(source, message, ...)
  failure.mistake(("--print '%s': %s"):format(text.escape(source), message:format(...)))
end

-- The conversions of FORMAT: a list of their letters.
local function conversions_of(format)
  local letters = {}
  for letter in format:gsub("%%%%", ""):gmatch "%%[-+ #0]*%d*%.?%d*(.)" do letters[#letters + 1] = letter end
  return letters
end

-- parse(source): { format, letters = its conversions, sources = the expressions }. Raises what is wrong with SOURCE.
function printing.parse(source)
  local parts = split(source)
  local quoted = parts[1]:find "^[\"'].*[\"']$" and loadstring("return " .. parts[1])
  local ok, format = pcall(quoted or error)
  if not ok or type(format) ~= "string" then
    wrong(source, 'a format in quotes stands first, and expressions follow: \'"%%s of %%d", e.comm, e.arg0\'')
  end
  local letters = conversions_of(format)
  table.remove(parts, 1)
  for _, letter in ipairs(letters) do
    if not letter:find "[cdeEfgGiouxXs]" then wrong(source, "there is no conversion '%%%s' in a format", letter) end
  end
  if #letters ~= #parts then
    wrong(source, "the format wants %s, and there %s", text.plural(#letters, "value"),
      #parts == 1 and "is 1 expression" or ("are %d expressions"):format(#parts))
  end
  local parsed = { format = format, letters = letters, sources = parts, wanted = {}, expressions = {} }
  for i, expression in ipairs(parts) do
    local name = letters[i] == "s" and expression:match "^e%.args%.([%a_][%w_]*)$"
    if name then parsed.wanted[name] = i end
  end
  return parsed
end

-- values(parsed, list): how a handler takes what PARSED prints, by place: where a text of an argument is wanted, a
-- field of LIST (uplua.trace.fields), shown by its type; else { source }.
function printing.values(parsed, list)
  local named, values = {}, {}
  for _, field in ipairs(list) do
    if field.name then named[field.name] = field end
  end
  for i, source in ipairs(parsed.sources) do
    local field = parsed.letters[i] == "s" and named[source:match "^e%.args%.([%a_][%w_]*)$"]
    values[i] = field or { source = ("x%d(e)"):format(i) }
    if not field then
      parsed.expressions[i] = parsed.expressions[i]
        or require "uplua".expression(source, { name = "--print", at_return = "--return" })
    end
  end
  return values
end

-- The line of VALUES (nil: those that could not be read) by PARSED.
function printing.line(parsed, values)
  local at, list = 0, {}
  local format = parsed.format:gsub("%%([-+ #0]*%d*%.?%d*)(.)", function(flags, letter)
    if letter == "%" then return "%%" end
    at = at + 1
    local value = values[at]
    local kind = type(value)
    local is_number = kind == "number" or kind == "cdata"
    if letter ~= "s" and not is_number then flags, letter = flags:match "^%-?" .. flags:match "%d*$", "s" end
    list[at] = value == nil and "nil" or value
    return "%" .. flags .. letter
  end)
  return (text.format(format, unpack(list, 1, at)):gsub("\n+$", ""))
end

return printing
