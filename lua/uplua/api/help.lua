-- What the manual says of a public name, as text: for help() at the prompt.
local entries = require "uplua.api.entries"
local text    = require "uplua.base.text"

local help = {}

local all, by_name, class_of -- read with the first question

local function read()
  if all then return end
  all, by_name, class_of = entries.all(), {}, {}
  for _, one in ipairs(all) do
    by_name[one.name], by_name[one.path] = by_name[one.name] or one, by_name[one.path] or one
    local result = one.results and one.results[1]
    if not one.class and result then class_of[one.name] = result:match "^[%w_]+" end
  end
end

-- The declaration of the member NAME of CLASS or of what it inherits from.
local function member(class, name)
  local _, types = entries.types()
  while class do
    local found = by_name[class .. ":" .. name] or by_name[class .. "." .. name]
    if found then return found end
    class = types[class] and types[class].parent
  end
end

-- find(name): what declares NAME: "uprobe", "up.uprobe", "flame.write", "e.pid", "hist.percentile" (of what up.hist
-- makes), "Probe:detach"; nil where nothing does.
function help.find(name)
  read()
  name = name:gsub("^up%.", "", 1)
  if by_name[name] then return by_name[name] end
  local owner, rest = name:match "^([%w_]+)[.:]([%w_]+)$"
  if owner then return member(class_of[owner] or owner, rest) end
end

-- of(name): its signature with types, what it does, what it raises and gives, and since when; nil and a suggestion
-- where there is no such name.
function help.of(name)
  local one = help.find(name)
  if not one then return nil, ("there is no '%s'%s"):format(name, text.did_you_mean(name, by_name)) end
  local lines = { entries.typed(one), "  " .. one.text:gsub("`", "") }
  if one.kinds then lines[#lines + 1] = "  of: " .. one.kinds:gsub(" ", ", ") end
  if one.gives_nil then lines[#lines + 1] = "  nil and the reason: " .. one.gives_nil end
  if one.raises then lines[#lines + 1] = "  raises: " .. one.raises end
  for _, argument in ipairs(one.arguments or {}) do
    for kind in argument.type:gmatch "%w+Options" do
      local options = help.of_type(kind)
      lines[#lines + 1] = options and "  " .. options:gsub("\n", "\n  ")
    end
  end
  lines[#lines + 1] = ("  since %s; doc/api.md, \"%s\""):format(one.since, one.chapter.title)
  return table.concat(lines, "\n")
end

-- class(name): the class NAME, or the one that what is called NAME gives, "Histogram" of "hist"; nil: there is none.
function help.class(name)
  read()
  local _, types = entries.types()
  local class = types[name] and name or class_of[name]
  return class and types[class] and class or nil
end

-- members(class): what is declared of CLASS and of what it inherits from, a list of declarations; its text.
function help.members(class)
  read()
  local list, seen, _, types = {}, {}, entries.types()
  local described = types[class] and types[class][3]
  while class and types[class] do
    for _, one in ipairs(all) do
      local short = one.class == class and one.name:match "[.:](.*)$"
      if short and not seen[short] then list[#list + 1], seen[short] = one, true end
    end
    class = types[class].parent
  end
  return list, described
end

-- fields(kind): of a type that is a table, "HashOptions": { name, type, optional, text or nil } of each of its fields,
-- in their order; none of others.
function help.fields(kind)
  local _, types = entries.types()
  local one, list = types[kind] or {}, {}
  for _, part in ipairs(entries.split((one[2] or ""):match "^{(.*)}$" or "")) do
    local name, optional, type_of = part:match "^([%w_]+)(%??): (.+)$"
    if name then
      list[#list + 1] = { name = name, type = type_of, optional = optional == "?", text = (one.keys or {})[name] }
    end
  end
  return list
end

-- keys(kind): the fields of the options of the type KIND, by their names; none of other types.
function help.keys(kind)
  local keys = {}
  for _, field in ipairs(kind:find "Options$" and help.fields(kind) or {}) do keys[field.name] = field end
  return keys
end

-- of_type(name): what there is to say of the type NAME that is no class: what it is of, and its fields, or what it
-- stands for; nil: there is none.
function help.of_type(name)
  local _, types = entries.types()
  local one = types[name]
  if not (one and one[2]) then return nil end
  local lines, fields = { ("%s: %s"):format(name, one[3]) }, help.fields(name)
  for _, field in ipairs(fields) do
    lines[#lines + 1] = ("  %s%s: %s"):format(field.name, field.optional and "?" or "", field.type)
    if field.text then lines[#lines + 1] = "      " .. field.text end
  end
  if #fields == 0 then lines[#lines + 1] = "  " .. one[2] end
  return table.concat(lines, "\n")
end

-- signature(declared): "p:detach(): Probe".
help.signature = entries.typed

-- chapters(): { title, names }, in the manual's order, without members of classes.
function help.chapters()
  read()
  local list, by_chapter = {}, {}
  for _, one in ipairs(all) do
    local chapter = by_chapter[one.chapter]
    if not chapter then
      chapter = { title = one.chapter.title, names = {} }
      by_chapter[one.chapter], list[#list + 1] = chapter, chapter
    end
    if not one.class or one.class == "Event" then chapter.names[#chapter.names + 1] = one.name end
  end
  return list
end

-- with_member(member): the names that end in MEMBER: "Histogram:percentile" of "percentile".
function help.with_member(member)
  read()
  local list = {}
  for _, one in ipairs(all) do
    if one.name:match "[.:]([%w_]+)$" == member then list[#list + 1] = one.name end
  end
  return list
end

-- names(): all names that of() knows, in the manual's order.
function help.names()
  read()
  local names = {}
  for i, one in ipairs(all) do names[i] = one.name end
  return names
end

return help
