-- What functions and values are called: by the manual, by Lua's libraries, or by where they were written.
local names = {}

-- Lua's own libraries, whose functions have a name, too.
local LIBRARIES = { "string", "table", "math", "bit", "os", "io", "coroutine", "debug", "jit", "package" }

-- The name of VALUE in the manual: "count", "flame.write" of a module that was required; nil where it has none.
function names.public(value)
  if value == nil then return nil end
  local up = require "uplua"
  for name in pairs(getmetatable(up).names) do
    if rawequal(rawget(up, name), value) then return name end
  end
  for module, fields in pairs(package.loaded) do
    local short = type(module) == "string" and module:match "^uplua%.([%l_]+)$"
    if short and type(fields) == "table" then
      if rawequal(fields, value) then return short end
      for name, field in next, fields do
        if type(name) == "string" and rawequal(field, value) then return short .. "." .. name end
      end
    end
  end
end

-- The name of one of Lua's own functions.
local function of_lua(fn)
  for _, library in ipairs(LIBRARIES) do
    for name, value in next, _G[library] or {} do
      if rawequal(value, fn) then return library .. "." .. name end
    end
  end
  for name, value in next, _G do
    if rawequal(value, fn) then return name end
  end
end

-- The name of FN, or where it was written: "up.count", "string.rep", "x.lua:12".
function names.of_function(fn)
  local public = names.public(fn)
  if public then return public:find(".", 1, true) and public or "up." .. public end
  local info = debug.getinfo(fn, "S")
  if info.what == "C" then return of_lua(fn) or "builtin" end
  return ("%s:%d"):format(info.short_src, info.linedefined)
end

return names
