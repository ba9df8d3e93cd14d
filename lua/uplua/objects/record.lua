-- Records and tuples as Lua sees them: C structs whose metatable converts a field when it is read. A struct costs its
-- bytes and 16 more, reads as fast as the JIT can load a word, cannot be written to (its fields are const, and
-- assignment to any name raises an error), and `pairs` works on it: LuaJIT asks cdata for __pairs even without 5.2
-- compatibility. A table could not refuse assignments to fields that it has, and a proxy for it would cost two tables
-- per record.
local buffer = require "uplua.objects.buffer"
local ffi = require "ffi"
local text = require "uplua.base.text"

local record = {}

-- The FFI's types are the process's, and so is what is known of them.
local infos = {} -- type number of the struct, and of its view → { names =, position =, get =, copy = }

local function info_of(value) return type(value) == "cdata" and infos[tonumber(ffi.typeof(value))] end

-- True for records, tuples and views of them.
function record.is(value) return info_of(value) and true or false end

-- The names of the fields in order; 1, 2, … for a tuple.
function record.names(value) return info_of(value).names end

-- A copy that stays: of a view in a ring, the record itself. Other values are returned as they are.
function record.copy(value)
  local info = info_of(value)
  if info and info.copy then return info.copy(value) end
  return value
end

-- line(value) → how it reads in one line: of a stack its frames in a row. Blanks that a text begins with are its own.
function record.line(value)
  local line = record.show(value)
  local is_text = type(value) == "string" or buffer.is(value) or info_of(value) or type(value) == "table"
  if not is_text or line:find "\n" then line = line:gsub("^%s+", "") end
  return (line:gsub("\n%s*", " < "))
end

-- A field's value; a record or tuple stands in braces.
local function show_field(value)
  local line = record.line(value)
  local is_array = type(value) == "table" and not getmetatable(value)
  return (is_array or info_of(value)) and "{" .. line .. "}" or line
end

-- How a value reads inside a line: strings escaped, tuples joined, records as name=value.
function record.show(value)
  local info = info_of(value)
  if not info then
    if type(value) == "string" then return text.escape(value) end
    if type(value) == "number" or type(value) == "cdata" then return text.integer(value) end
    if type(value) == "table" and not getmetatable(value) then
      local parts = {}
      for k, v in pairs(value) do
        parts[#parts + 1] = type(k) == "number" and record.show(v) or ("%s=%s"):format(tostring(k), record.show(v))
      end
      return table.concat(parts, ", ")
    end
    return tostring(value)
  end
  local parts = {}
  for _, name in ipairs(info.names) do
    local v = value[name]
    if type(name) == "number" then
      parts[#parts + 1] = show_field(v)
    elseif v ~= nil then
      parts[#parts + 1] = ("%s=%s"):format(name, show_field(v))
    end
  end
  return table.concat(parts, type(info.names[1]) == "number" and ", " or " ")
end

-- NAMES with a tuple's numbers in their order: a handler sets the constants of { e.comm, 7 } first.
local function in_order(names)
  local ordered, rest = {}, {}
  for _, name in ipairs(names) do
    local list = type(name) == "number" and ordered or rest
    list[#list + 1] = name
  end
  table.sort(ordered)
  for _, name in ipairs(rest) do ordered[#ordered + 1] = name end
  return ordered
end

-- Gives STRUCT (a ctype) its metatable. GET maps a field's name to its getter; NAMES is their order; REFUSAL is the
-- message for an assignment; COPY makes a record of a view.
function record.define(struct, names, get, refusal, copy)
  local position = {}
  names = in_order(names)
  for i, name in ipairs(names) do position[name] = i end
  infos[tonumber(struct)] = { names = names, get = get, copy = copy }

  local function next_field(value, name)
    local i = name == nil and 0 or position[name]
    while true do
      i = i + 1
      local field = names[i]
      if field == nil then return nil end
      local v = get[field](value)
      if v ~= nil then return field, v end
    end
  end
  local function next_index(value, i)
    local getter = get[i + 1]
    if getter then return i + 1, getter(value) end
  end
  return ffi.metatype(struct, {
    __index = function(value, name)
      local getter = get[name]
      if getter then return (getter(value)) end -- no tail call: LuaJIT compiles no more than 15 of them
    end,
    __newindex = function() error(refusal, 2) end,
    __pairs = function(value) return next_field, value, nil end,
    __ipairs = function(value) return next_index, value, 0 end,
    __len = function() return type(names[#names]) == "number" and #names or 0 end,
    __tostring = record.show,
  })
end

return record
