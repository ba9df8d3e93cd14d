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

-- keys(kind): the keys of the options of the type KIND, "HashOptions", as a table's; none of other types.
function help.keys(kind)
  local _, types = entries.types()
  local keys, definition = {}, kind:find "Options$" and types[kind] and types[kind][2] or ""
  for _, part in ipairs(entries.split(definition:match "^{(.*)}$" or "")) do
    local key = part:match "^([%w_]+)%??:"
    if key then keys[key] = true end
  end
  return keys
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
