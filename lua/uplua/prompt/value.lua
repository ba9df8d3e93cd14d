-- How the prompt shows values: as one would write them. A table stands on one line if it fits the terminal, else with a
-- line for each entry; what is shown is cut at a number of entries and lines, and says so. Nothing of it runs code of
-- the user's but __tostring, and nothing that a target chose drives the terminal.
local cdata    = require "uplua.prompt.cdata"
local ffi      = require "ffi"
local names    = require "uplua.prompt.names"
local order    = require "uplua.objects.order"
local printer  = require "uplua.objects.printer"
local record   = require "uplua.objects.record"
local terminal = require "uplua.term.terminal"
local text     = require "uplua.base.text"

local value = {}

local MOST_ENTRIES = 100    -- of a table
local MOST_LINES   = 1000   -- of a value
local MOST_SORTED  = 10000  -- keys of a table: the order of more would take longer than it is worth
local LONGEST      = 4096   -- bytes of a string that stands alone
local SHORT        = 20     -- columns of a list's value that shares its line with others
local DEEPEST      = 60     -- columns of indentation
local NARROWEST    = 20     -- columns

-- TEXT, which often is the target's and must not drive the terminal: control characters are escaped, except for
-- newlines and tabs, and the cells of plot.heat.
function value.harmless(shown)
  local parts, at = {}, 1
  repeat
    local first, last = shown:find("\27%[48;5;%d+m \27%[0m", at)
    parts[#parts + 1] = text.escape(shown:sub(at, first and first - 1 or -1), "\n\t")
    if first then
      parts[#parts + 1] = shown:sub(first, last)
      at = last + 1
    end
  until not first
  return table.concat(parts)
end

local ESCAPES = { ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r", ['"'] = '\\"', ["\\"] = "\\\\" }

-- S as a literal, of its first MOST bytes where it is longer; alone it says how long it is.
local function quoted(s, most)
  local shown = #s > most and s:sub(1, most) or s
  shown = '"' .. text.escape((shown:gsub('[\n\t\r"\\]', ESCAPES))) .. '"'
  if #s <= most then return shown end
  return most < LONGEST and shown .. "…" or ("%s… (%s bytes)"):format(shown, text.thousands(#s))
end

local function number(n)
  if type(n) == "cdata" then return tostring(n) end
  if n == math.huge then return "math.huge" elseif n == -math.huge then return "-math.huge" end
  if n == math.floor(n) and math.abs(n) <= 2 ^ 64 then return text.integer(n) end
  local short = tostring(n)
  return (tonumber(short) == n or n ~= n) and short or ("%.17g"):format(n)
end

local function is_integer(v) return ffi.istype("int64_t", v) or ffi.istype("uint64_t", v) end

local function is_plain_table(v)
  return type(v) == "table" and type((debug.getmetatable(v) or {}).__tostring) ~= "function"
end

-- The text of V, which has no parts to be shown one by one; may have several lines.
local function leaf(v, most)
  local kind = type(v)
  if kind == "string" then return quoted(v, most) end
  if kind == "number" or kind == "cdata" and is_integer(v) then return number(v) end
  if kind == "function" then return "function: " .. text.escape(names.of_function(v)) end
  if kind == "cdata" then
    local shown, bytes = cdata.text(v)
    return bytes and quoted(bytes, most) or value.harmless(shown)
  end
  return value.harmless(tostring(v))
end

local KINDS = { number = 1, string = 2, boolean = 3 }

local function before(a, b)
  local x, y = KINDS[type(a)] or 4, KINDS[type(b)] or 4
  if x ~= y then return x < y end
  if x > 2 then return tostring(a) < tostring(b) end
  return a < b
end

local RESERVED = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat return then true
               until while]]):gmatch "%a+" do RESERVED[word] = true end

local function is_name(key) return type(key) == "string" and key:find "^[%a_][%w_]*$" and not RESERVED[key] end

-- How KEY is written in a constructor, and behind what holds it.
local function key_text(key)
  if is_name(key) then return key .. " = ", "." .. key end
  local shown = is_plain_table(key) and "table" or leaf(key, 64):gsub("\n%s*", " < ")
  return ("[%s] = "):format(shown), ("[%s]"):format(shown)
end

-- The entries of V in their order, { prefix, value, path } each, and how many there are in all; nil for what has none.
local function entries(v, path)
  local list, keys, count = {}, {}, 0
  local function add(prefix, one, inner) list[#list + 1] = { prefix, one, path .. inner } end
  if record.is(v) then
    for _, name in ipairs(record.names(v)) do
      local field = v[name]
      if type(name) == "number" then
        add("", field, ("[%d]"):format(name))
      elseif field ~= nil then
        add(name .. " = ", field, "." .. name)
      end
    end
    return list, #list
  end
  if type(v) == "cdata" and not is_integer(v) then
    local parts, count = cdata.parts(v, MOST_ENTRIES)
    for _, part in ipairs(parts or {}) do
      local name, field = part[1], part[2]
      local of_array = type(name) == "number"
      add(of_array and "" or name .. " = ", field, of_array and ("[%d]"):format(name) or "." .. name)
    end
    return parts and list, count
  end
  if not is_plain_table(v) then return nil end
  local length = 0
  while rawget(v, length + 1) ~= nil do length = length + 1 end
  for i = 1, math.min(length, MOST_ENTRIES) do add("", rawget(v, i), ("[%d]"):format(i)) end
  for key in next, v do
    local of_list = type(key) == "number" and key >= 1 and key <= length and key == math.floor(key)
    if not of_list then
      count = count + 1
      if count <= MOST_SORTED then keys[count] = key end
    end
  end
  table.sort(keys, before)
  for i = 1, math.min(#keys, MOST_ENTRIES - #list) do
    local prefix, inner = key_text(keys[i])
    add(prefix, rawget(v, keys[i]), inner)
  end
  return list, length + count
end

local function rest(shown, count) return ("… %s more"):format(text.thousands(count - shown)) end

-- V on one line, of WIDTH columns at the most; nil where it does not fit. OPEN: table → the path at which it is shown.
local function line(v, path, width, open)
  if width < 1 then return nil end
  if open[v] then return "<" .. open[v] .. ">" end
  local list, count = entries(v, path)
  if not list then
    local shown = leaf(v, LONGEST)
    if type(v) == "userdata" and shown:find "^%s*[^\n]+\n" then
      shown = shown:gsub("^%s+", ""):gsub("\n%s*", " < ") -- a stack's frames
    end
    return not shown:find "\n" and text.width(shown) <= width and shown or nil
  end
  if count == 0 then return "{}" end
  open[v] = path
  local parts, left = {}, width - 2
  for _, entry in ipairs(list) do
    left = left - text.width(entry[1]) - 2
    local shown = line(entry[2], entry[3], left, open)
    if not shown then break end
    left = left - text.width(shown)
    parts[#parts + 1] = entry[1] .. shown
  end
  open[v] = nil
  if #parts < #list or count > #list then return nil end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

local block

-- Adds V, which does not fit on one line behind PREFIX, to the lines of OUT, with COMMA behind it.
local function several(out, prefix, v, path, indent, comma)
  local list, count = entries(v, path)
  if not list then
    local room = math.max(out.width - #indent - #prefix - #comma, 8)
    local shown = leaf(v, room - 3)
    if not shown:find "\n" then
      out[#out + 1] = indent .. prefix .. text.cut(shown, room) .. comma
      return
    end
    if prefix ~= "" then out[#out + 1] = indent .. prefix:gsub("%s+$", "") end
    for each in shown:gmatch "[^\n]+" do
      if #out >= MOST_LINES then return end
      out[#out + 1] = indent .. (prefix ~= "" and "  " or "") .. each
    end
    return
  end
  if #indent > DEEPEST then
    out[#out + 1] = indent .. prefix .. "{ … }" .. comma
    return
  end
  out[#out + 1] = indent .. prefix .. "{"
  out.open[v] = path
  local row -- of a list whose values are short: as many as fit
  for _, entry in ipairs(list) do
    if #out >= MOST_LINES then return end
    local short = entry[1] == "" and not entries(entry[2], "") and line(entry[2], entry[3], SHORT, out.open)
    if short and row and text.width(row) + text.width(short) + 2 <= out.width then
      row = ("%s %s,"):format(row, short)
    else
      out[#out + 1] = row
      row = short and ("%s  %s,"):format(indent, short) or nil
      if not short then block(out, entry[1], entry[2], entry[3], indent .. "  ", ",") end
    end
  end
  out[#out + 1] = row
  if count > #list then out[#out + 1] = indent .. "  " .. rest(#list, count) end
  out.open[v] = nil
  out[#out + 1] = indent .. "}" .. comma
end

function block(out, prefix, v, path, indent, comma)
  local room = out.width - #indent - text.width(prefix) - #comma
  local shown = line(v, path, room, out.open)
  if shown then
    out[#out + 1] = indent .. prefix .. shown .. comma
  else
    several(out, prefix, v, path, indent, comma)
  end
end

-- V, of which "_" is the name, for WIDTH columns (nil: the terminal's, or 80).
function value.show(v, width)
  local keys, values, unit
  if type(v) == "function" then keys, values, unit = order.listed(v) end
  if keys then return value.harmless(printer.entries(keys, values, #keys, unit)) end
  if not (record.is(v) or is_plain_table(v) or type(v) == "cdata") then return leaf(v, LONGEST) end
  width = math.max(width or terminal.size() or 80, NARROWEST)
  local out = { width = width, open = {} }
  block(out, "", v, "_", "", "")
  if #out >= MOST_LINES then out[#out + 1] = "… cut after " .. text.plural(MOST_LINES, "line") end
  return table.concat(out, "\n")
end

return value
