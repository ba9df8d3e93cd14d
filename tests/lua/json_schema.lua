-- JSON by a strict reader, and what of JSON Schema (2020-12) doc/formats.schema.json uses. A keyword that is not known
-- here is an error: it would be a rule that nobody checks.
local json_schema = {}

-- Debian 12's LuaJIT compiles these functions, which call themselves through pcall and closures, to code that crashes
-- now and then: one run in ten of /usr/bin/luajit, none without its compiler.
jit.off(true, true)

local Array = {} -- the metatable of arrays: {} and [] differ

local ESCAPES = { ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

-- True where S is UTF-8 without control characters.
local function is_text(s)
  if s:find "[%z\1-\31]" then return false end
  local at = 1
  while at <= #s do
    local tail = s:match("^[\1-\127]()", at) or s:match("^[\194-\223][\128-\191]()", at)
      or s:match("^[\224-\239][\128-\191][\128-\191]()", at)
      or s:match("^[\240-\244][\128-\191][\128-\191][\128-\191]()", at)
    if not tail then return false end
    at = tail
  end
  return true
end

local value_at -- (text, at) → value, where it ends

local function string_at(text, at)
  local parts, from = {}, at + 1
  while true do
    local stop = text:find('["\\]', from) or error("a string is not closed at " .. at, 0)
    parts[#parts + 1] = text:sub(from, stop - 1)
    if text:sub(stop, stop) == '"' then break end
    local escaped = ESCAPES[text:sub(stop + 1, stop + 1)]
    local hex = not escaped and (text:match("^\\u(%x%x%x%x)", stop) or error("a wrong escape at " .. stop, 0))
    parts[#parts + 1] = escaped or ("U+" .. hex)
    from = stop + (escaped and 2 or 6)
  end
  for _, part in ipairs(parts) do
    local escaped = part:find "^[\b\f\n\r\t]$"
    if not escaped and not is_text(part) then error("no UTF-8, or a control character: " .. part, 0) end
  end
  return table.concat(parts), text:find('"', from, true) + 1
end

local function skip(text, at) return text:match("^[ \t]*()", at) end

-- The elements between the bracket at AT and CLOSE; ELEMENT reads one and returns where it ends.
local function list_at(text, at, close, element)
  at = skip(text, at + 1)
  if text:sub(at, at) == close then return at + 1 end
  while true do
    at = skip(text, element(skip(text, at)))
    local mark = text:sub(at, at)
    if mark == close then return at + 1 end
    if mark ~= "," then error(("',' or '%s' is missing at %d"):format(close, at), 0) end
    at = at + 1
  end
end

local function object_at(text, at)
  local object = {}
  local stop = list_at(text, at, "}", function(from)
    if text:sub(from, from) ~= '"' then error("a name is missing at " .. from, 0) end
    local name, to = string_at(text, from)
    if object[name] ~= nil then error("the name '" .. name .. "' is there twice", 0) end
    to = skip(text, to)
    if text:sub(to, to) ~= ":" then error("':' is missing at " .. to, 0) end
    object[name], to = value_at(text, skip(text, to + 1))
    return to
  end)
  return object, stop
end

local function array_at(text, at)
  local array = setmetatable({}, Array)
  local stop = list_at(text, at, "]", function(from)
    local value, to = value_at(text, from)
    array[#array + 1] = value
    return to
  end)
  return array, stop
end

function value_at(text, at)
  local first = text:sub(at, at)
  if first == "{" then return object_at(text, at) end
  if first == "[" then return array_at(text, at) end
  if first == '"' then return string_at(text, at) end
  for word, value in pairs { ["true"] = true, ["false"] = false } do
    if text:sub(at, at + #word - 1) == word then return value, at + #word end
  end
  local digits = text:match("^%-?[1-9]%d*", at) or text:match("^%-?0", at) or error("no value at " .. at, 0)
  local rest = text:match("^%.%d+", at + #digits) or ""
  local power = text:match("^[eE][+-]?%d+", at + #digits + #rest) or ""
  return tonumber(digits .. rest .. power), at + #digits + #rest + #power
end

-- The value that TEXT, a line, is. nil and what is wrong.
function json_schema.decode(text)
  local good, value, stop = pcall(value_at, text, 1)
  if not good then return nil, value end
  if stop ~= #text + 1 then return nil, "more behind the value: " .. text:sub(stop, stop + 20) end
  return value
end

local function kind_of(value)
  if type(value) == "table" then return getmetatable(value) == Array and "array" or "object" end
  return type(value)
end

local function has_type(value, kind)
  if kind == "integer" then return type(value) == "number" and value == math.floor(value) end
  return kind_of(value) == kind
end

local check -- (root, schema, value, path) → nil, or what is wrong

local function one_of(root, list, value, path, all)
  local good, first = 0, nil
  for _, schema in ipairs(list) do
    local wrong = check(root, schema, value, path)
    if not wrong then good = good + 1 end
    first = first or wrong
  end
  if good == 0 then return ("%s fits none: %s"):format(path, tostring(first)) end
  if all and good > 1 then return path .. " fits more than one" end
end

local KEYWORDS = {
  ["$schema"] = function() end, ["$defs"] = function() end, title = function() end, description = function() end,
  ["$ref"] = function(root, ref, value, path)
    return check(root, root["$defs"][ref:match "^#/%$defs/(.+)$"] or error(ref), value, path)
  end,
  oneOf = function(root, list, value, path) return one_of(root, list, value, path, true) end,
  anyOf = function(root, list, value, path) return one_of(root, list, value, path) end,
  type = function(_, kind, value, path)
    if not has_type(value, kind) then return ("%s is a %s, no %s"):format(path, kind_of(value), kind) end
  end,
  const = function(_, constant, value, path)
    if value ~= constant then return ("%s is %s, not %s"):format(path, tostring(value), tostring(constant)) end
  end,
  enum = function(_, list, value, path)
    for _, one in ipairs(list) do
      if value == one then return nil end
    end
    return ("%s is %s"):format(path, tostring(value))
  end,
  minimum = function(_, least, value, path)
    if type(value) == "number" and value < least then return ("%s is below %s"):format(path, least) end
  end,
  minItems = function(_, least, value, path)
    if kind_of(value) == "array" and #value < least then return path .. " has too few" end
  end,
  pattern = function(_, pattern, value, path) -- of a simple kind, which is Lua's, too
    if type(value) == "string" and not value:find((pattern:gsub("%-%?", "%%-?"))) then
      return ("%s: '%s' does not match"):format(path, value)
    end
  end,
  required = function(_, names, value, path)
    for _, name in ipairs(kind_of(value) == "object" and names or {}) do
      if value[name] == nil then return ("%s has no %s"):format(path, name) end
    end
  end,
  items = function(root, schema, value, path)
    for i, one in ipairs(kind_of(value) == "array" and value or {}) do
      local wrong = check(root, schema, one, ("%s[%d]"):format(path, i))
      if wrong then return wrong end
    end
  end,
  properties = function(root, schemas, value, path)
    for name, schema in pairs(kind_of(value) == "object" and schemas or {}) do
      local wrong = value[name] ~= nil and check(root, schema, value[name], path .. "." .. name)
      if wrong then return wrong end
    end
  end,
  additionalProperties = function(root, schema, value, path, all)
    for name, one in pairs(kind_of(value) == "object" and value or {}) do
      if not (all.properties and all.properties[name]) then
        local wrong
        if schema == false then
          wrong = ("%s has %s"):format(path, name)
        else
          wrong = check(root, schema, one, path .. "." .. name)
        end
        if wrong then return wrong end
      end
    end
  end,
}

function check(root, schema, value, path)
  for keyword, rule in pairs(schema) do
    local fits = KEYWORDS[keyword] or error("a keyword that is not checked: " .. keyword, 0)
    local wrong = fits(root, rule, value, path, schema)
    if wrong then return wrong end
  end
end

-- What is wrong with VALUE, as decode returns it, by SCHEMA; nil: nothing.
function json_schema.wrong(schema, value) return check(schema, schema, value, "it") end

-- The schema in the file at PATH.
function json_schema.read(path)
  local file = assert(io.open(path))
  local schema, wrong = json_schema.decode((file:read "*a":gsub("%s*\n%s*", "")))
  file:close()
  return assert(schema, wrong)
end

return json_schema
