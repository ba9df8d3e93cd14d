-- tools/api/luacats.lua FOLDER    writes the public names as LuaCATS definitions for editors: uplua.lua, and a file for
-- each public module below uplua/, as `require` finds them
package.path = "lua/?.lua;" .. package.path
local entries = require "uplua.api.entries"

local folder = assert(arg[1], "luacats.lua FOLDER")
local types, by_name = entries.types()

-- A type with the names of ours in the editor's one space of names: uplua.Probe. Names of fields and texts stay.
local function qualified(type_of)
  return (type_of:gsub("()([%a_][%w_]*)()", function(from, name, to)
    local is_field, before = type_of:find("^%??:", to), type_of:sub(from - 1, from - 1)
    if by_name[name] and not is_field and not before:find '[%w_."]' then return "uplua." .. name end
  end))
end

local WORDS = { gives_nil = "Nil and the reason: ", raises = "Raises: " }

local function add_text(lines, one)
  lines[#lines + 1] = "--- " .. one.text
  for _, key in ipairs { "gives_nil", "raises" } do
    if one[key] then lines[#lines + 1] = ("---\n--- %s%s"):format(WORDS[key], one[key]) end
  end
end

-- The overload of a function whose options stand before its handler, without them; nil for others.
local function overload_of(one)
  local words, left_out = {}, false
  for i, argument in ipairs(one.arguments) do
    local next_one = one.arguments[i + 1]
    if argument.optional and next_one and not next_one.optional then
      left_out = true
    else
      words[#words + 1] = ("%s%s: %s"):format(argument.name, argument.optional and "?" or "", qualified(argument.type))
    end
  end
  local results = {}
  for i, result in ipairs(one.results) do results[i] = qualified(result) end
  return left_out and ("---@overload fun(%s)%s"):format(table.concat(words, ", "),
    results[1] and ": " .. table.concat(results, ", ") or "") or nil
end

-- Adds the function ONE as a member of the variable OWNER.
local function add_function(lines, one, owner, separator)
  add_text(lines, one)
  local names = {}
  for i, argument in ipairs(one.arguments) do
    names[i] = argument.name
    lines[#lines + 1] = ("---@param %s%s %s"):format(argument.name, argument.optional and "?" or "",
      qualified(argument.type))
  end
  for _, result in ipairs(one.results) do lines[#lines + 1] = "---@return " .. qualified(result) end
  lines[#lines + 1] = overload_of(one)
  local member = one.path:match "[.:]([%w_]+)$"
  lines[#lines + 1] = ("function %s%s%s(%s) end\n"):format(owner, separator, member, table.concat(names, ", "))
end

local function write(path, lines)
  local file = assert(io.open(folder .. "/" .. path, "w"))
  file:write(table.concat(lines, "\n"), "\n")
  file:close()
end

-- The classes: fields as annotations, methods as functions of a local table.
local function add_classes(lines, all)
  for _, one in ipairs(types) do
    local name, definition, text, parent = one[1], one[2], one[3], one.parent
    if definition then
      lines[#lines + 1] = ("--- %s\n---@alias uplua.%s %s\n"):format(text, name, qualified(definition))
    else
      local methods = {}
      lines[#lines + 1] = ("--- %s\n---@class uplua.%s%s"):format(text, name, parent and ": uplua." .. parent or "")
      if one.indexed then lines[#lines + 1] = "---@field [any] any" end
      for _, member in ipairs(all) do
        if member.class == name and member.type then
          local field, inner = member.path:match "[.:]([%w_]+)(.*)$"
          local type_of = inner == "" and qualified(member.type) or ("table<string, %s>"):format(qualified(member.type))
          lines[#lines + 1] = ("---@field %s %s %s"):format(field, type_of, member.text)
        elseif member.class == name then
          methods[#methods + 1] = member
        end
      end
      lines[#lines + 1] = ("local %s = {}\n"):format(name)
      for _, member in ipairs(methods) do add_function(lines, member, name, ":") end
    end
  end
end

-- The file of MODULE, whose names are those of ALL for which IS_OF says so.
local function add_module(lines, module, all, is_of)
  local variable = module:match "[%w_]+$"
  lines[#lines + 1] = ("---@class %s"):format(module)
  for _, one in ipairs(all) do
    if is_of(one) and one.type then
      lines[#lines + 1] = ("---@field %s %s %s"):format(one.path:match "[.:]([%w_]+)$", qualified(one.type), one.text)
    end
  end
  lines[#lines + 1] = ("local %s = {}\n"):format(variable)
  for _, one in ipairs(all) do
    if is_of(one) and one.arguments then add_function(lines, one, variable, ".") end
  end
  lines[#lines + 1] = "return " .. variable
end

local all, modules = entries.all(), {}
local root = { "---@meta uplua", "-- Made from lua/uplua/api/.\n" }
add_classes(root, all)
add_module(root, "uplua", all, function(one) return not one.class and not one.module end)
write("uplua.lua", root)
for _, one in ipairs(all) do
  if one.module and not modules[one.module] then
    modules[one.module] = true
    local lines = { "---@meta " .. one.module, "-- Made from lua/uplua/api/.\n" }
    add_module(lines, one.module, all, function(other) return other.module == one.module end)
    write(one.module:gsub("%.", "/") .. ".lua", lines)
  end
end
