-- How the entries of a shared object are printed: one per line, keys aligned, values to the right; an entry whose key
-- holds a stack shows its value first and the frames below; a value of several lines (a histogram) stands below its
-- key.
local buffer = require "uplua.objects.buffer"
local options = require "uplua.options"
local record = require "uplua.objects.record"
local text = require "uplua.base.text"

local printer = {}

local MOST = 1000     -- entries that are printed unless --top says otherwise; the rest is only counted
local WIDEST_KEY = 60 -- a longer key does not push the values of all others to the right

-- So many entries are printed.
function printer.most()
  if not options.top then return MOST end
  return options.top > 0 and options.top or math.huge
end

function printer.is_number(value)
  return type(value) == "number" or (type(value) == "cdata" and not record.is(value))
end

-- A number in its UNIT (nil: with thousands), anything else as record.show does.
function printer.value(value, unit)
  return printer.is_number(value) and text.quantity(value, unit) or record.show(value)
end

-- The one-line parts of KEY, and its stacks' lines (without indentation), or nil.
local function parts_of(key)
  local heads, frames = {}, nil
  local function part(value)
    local line = record.show(value)
    if line:find("\n", 1, true) or type(value) == "userdata" and not buffer.is(value) then
      frames = frames or {}
      for frame in line:gmatch("[^\n]+") do frames[#frames + 1] = frame:match("^%s*(.-)%s*$") end
    else
      heads[#heads + 1] = line
    end
  end
  if record.is(key) and type(record.names(key)[1]) == "number" then
    for _, name in ipairs(record.names(key)) do part(key[name]) end
  else
    part(key)
  end
  return table.concat(heads, ", "), frames
end

-- What stands for the key of all keys together that an aggregation has no element of.
printer.OTHERS = "(other keys)"

-- The text of lists KEYS and VALUES, numbers of these in their UNIT, in their order, of the value REST of others that
-- are not there (nil: there are none), and of how many more there are of COUNT; "(empty)" where there is nothing.
function printer.entries(keys, values, count, unit, rest)
  if #keys == 0 and rest == nil then return "(empty)" end
  local more = count - math.min(#keys, printer.most())
  if rest ~= nil then
    local at = math.min(#keys, printer.most() - 1) + 1
    more = count - at + 1
    keys[at], values[at] = printer.OTHERS, rest
  end
  local heads, frames, texts = {}, {}, {}
  local key_width, value_width, any_frames = 0, 0, false
  local shown = math.min(#keys, printer.most())
  for i = 1, shown do
    heads[i], frames[i] = parts_of(keys[i])
    frames[i] = frames[i] or false
    texts[i] = printer.value(values[i], unit)
    any_frames = any_frames or frames[i] and true
    local width = text.width(heads[i])
    if width <= WIDEST_KEY then key_width = math.max(key_width, width) end
    if not texts[i]:find("\n", 1, true) then value_width = math.max(value_width, text.width(texts[i])) end
  end
  local lines = {}
  for i = 1, shown do
    local value = texts[i]
    local space = printer.is_number(values[i]) and (" "):rep(value_width - text.width(value)) or ""
    if value:find("\n", 1, true) then
      lines[#lines + 1] = heads[i]
      for _, frame in ipairs(frames[i] or {}) do lines[#lines + 1] = "    " .. frame end
      lines[#lines + 1] = value
    elseif any_frames then
      lines[#lines + 1] = (space .. value .. (heads[i] ~= "" and "  " .. heads[i] or ""))
      for _, frame in ipairs(frames[i] or {}) do lines[#lines + 1] = (" "):rep(value_width + 4) .. frame end
    else
      lines[#lines + 1] = text.pad(heads[i], math.max(key_width, text.width(heads[i]))) .. "  " .. space .. value
    end
  end
  if more > 0 then lines[#lines + 1] = ("… and %s more"):format(text.thousands(more)) end
  return table.concat(lines, "\n")
end

return printer
