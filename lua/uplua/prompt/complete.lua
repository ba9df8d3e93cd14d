-- What Tab offers at the prompt: names, methods behind ':', keys of options, fields of events behind 'e.', and in
-- strings what probe specs, files and names of the manual go on with. Values are looked up raw, so that no code of the
-- user's runs.
local api       = require "uplua.api.help"
local context   = require "uplua.prompt.context"
local help      = require "uplua.prompt.help"
local providers = require "uplua.probe.providers"
local specs     = require "uplua.prompt.specs"

local complete = {}

local function add(found, prefix, start, name)
  if type(name) == "string" and name:sub(1, #start) == start and name:find "^[%a_][%w_]*$" then
    found[prefix .. name] = true
  end
end

-- The value that the path "a.b" leads to, and whether it does.
local function look_up(path)
  local up, value = require "uplua", _G
  for name in path:gmatch "[^.:]+" do
    if type(value) ~= "table" then return nil end
    local inner = rawget(value, name)
    if inner == nil and (value == _G or value == up) then
      if name == "up" then inner = up end
      if getmetatable(up).names[name] then inner = up[name] end
    end
    value = inner
  end
  return value
end

-- The names of members of CLASS, methods or fields as SEPARATOR says.
local function add_members(found, class, prefix, separator, start)
  for _, one in ipairs(class and api.members(class) or {}) do
    local kind, name = one.name:match "([.:])([%w_]+)$"
    if kind == separator then add(found, prefix, start, name) end
  end
end

-- The constructor, "uprobe", of the probe whose handler stands in CALL, and the spec's rest; nil: it is none.
local function probe_of(call)
  local called, spec = call.called:gsub("^up%.", ""), call.strings[1]
  if called:find ":replace$" then
    local probe = look_up(called:match "^(.*):")
    if type(probe) ~= "table" or not rawget(probe, "kind") then return nil end
    called, spec = rawget(probe, "kind"), rawget(probe, "spec")
  end
  local provider, rest = providers.find(called), spec
  if not provider and (called == "probe" or called == "retprobe") and spec then
    provider, rest = providers.of_spec(spec)
    if called == "retprobe" and provider.at_return then provider = providers.find(provider.at_return) end
  end
  return provider and provider.name, rest
end

-- Names of e.args or e.vars (WHICH) of what SPEC, of KIND, names.
local function add_arguments(found, which, kind, spec, prefix, start)
  if not kind or not spec then return end
  local ok, entries = pcall(require "uplua".list, ("%s:%s"):format(kind, spec), true)
  local first = ok and entries[1]
  for _, argument in ipairs(first and first.arguments or {}) do
    local of_vars = tostring(argument.source):find "^e%.vars" ~= nil
    if of_vars == (which == "vars") then add(found, prefix, start, argument.name) end
  end
end

-- What an event has, of the kind of probe whose handler is being typed.
local function add_event(found, call, name, path, separator, start)
  local kind, spec
  if call then kind, spec = probe_of(call) end
  local inside = path:match "^[%w_]+%.(.+)$"
  local which = inside
  if separator == "." and inside and (inside == "task" or inside:find "^args%.") then
    for field in pairs(require "uplua.prompt.fields".of(inside, kind, spec)) do
      add(found, path .. separator, start, field)
    end
    return
  end
  if which == "args" or which == "vars" then
    return add_arguments(found, which, kind, spec, path .. separator, start)
  end
  for _, one in ipairs(path == name and api.members "Event" or {}) do
    local has, field = one.name:match "^e([.:])([%w_]+)"
    local of_kind = not kind or not one.kinds or (" " .. one.kinds .. " "):find(" " .. kind .. " ", 1, true)
    if has == separator and of_kind then add(found, path .. separator, start, field) end
  end
  if separator == "." and path == name then
    for i = 0, 7 do
      if found[path .. ".arg0"] then add(found, path .. ".", start, "arg" .. i) end
    end
  end
end

-- The texts that the option KEY of the function CALLED may be, sorted; nil where it may be any.
local function values_of(called, key)
  for _, argument in ipairs((api.find(called) or {}).arguments or {}) do
    local field, list = api.keys(argument.type)[key], {}
    for text in (field and field.type or ""):gmatch '"([^"]+)"' do list[#list + 1] = text end
    table.sort(list)
    if #list > 0 then return list end
  end
end

-- The keys of the options that the function CALLED takes.
local function add_options(found, called, start)
  for _, argument in ipairs((api.find(called) or {}).arguments or {}) do
    for key in pairs(api.keys(argument.type)) do add(found, "", start, key) end
  end
end

-- The class of the manual that VALUE is of.
local function class_of(value)
  if type(value) == "string" then return nil end
  return api.class(help.called(value) or "")
end

local function add_fields(found, path, separator, start)
  local value, prefix = look_up(path), path .. separator
  local up = require "uplua"
  add_members(found, class_of(value), prefix, separator, start)
  if value == up then
    for name in pairs(getmetatable(up).names) do add(found, prefix, start, name) end
  elseif type(value) == "string" then
    for name in pairs(string) do add(found, prefix, start, name) end
  end
  if type(value) ~= "table" or class_of(value) and separator == ":" then return end
  local index = (debug.getmetatable(value) or {}).__index
  for _, fields in ipairs { class_of(value) and {} or value, type(index) == "table" and index or {} } do
    for name, field in next, fields do
      if separator == "." or type(field) == "function" then add(found, prefix, start, name) end
    end
  end
end

-- Whether the argument that is typed AT this place is the number of a process.
local function takes_pid(at)
  if not at.called or at.options then return false end
  local arguments = (api.find((at.called:gsub("^up%.", ""))) or {}).arguments or {}
  return (arguments[at.argument] or {}).name == "pid"
end

local KEYWORDS = ("and break do else elseif end false for function if in local nil not or repeat return then true "
  .. "until while"):gmatch "%a+"
local WORDS = {}
for word in KEYWORDS do WORDS[#WORDS + 1] = word end

local function add_names(found, start)
  for name in next, _G do add(found, "", start, name) end
  for name in pairs(getmetatable(require "uplua").names) do add(found, "", start, name) end
  if start == "" then return end
  for _, word in ipairs(WORDS) do add(found, "", start, word) end
end

-- The words that can stand for WORD behind BEFORE, which is all of the entry that stands before it: sorted; and word →
-- what is shown for it, where that is another text. BRIEF: where all go on alike, that beginning is enough.
function complete.words(word, before, brief)
  local at = context.at(before .. word)
  if at.comment then return {} end
  local asked = before:match "^%s*%?%s*$"
  if asked then return specs.words("help", word) end -- "?hist" is help "hist"
  local key = at.typed and at.options and at.called and before:match "([%a_][%w_]*)%s*=%s*[\"']$"
  local values = key and values_of((at.called:gsub("^up%.", "")), key)
  if values then return specs.beginning(at.typed, values) end
  if at.typed then return specs.words(at.called and at.called:gsub("^up%.", "") or nil, word, brief) end
  if word:find "^%d*$" and takes_pid(at) then return require "uplua.prompt.processes".beginning("", word) end
  local path, separator, start = word:match "^(.-)([.:]?)([%w_]*)$"
  local found, words = {}, {}
  local name = path:match "^[%w_]+"
  local call = name and at.handler(name)
  local indexed = path == "" and separator ~= "" and before:match "([%a_][%w_.]*)%b[]$"
  if indexed then
    add_members(found, indexed == "probes" and "Probe" or class_of(look_up(indexed)), separator, separator, start)
  elseif call or name == "e" and look_up "e" == nil then
    add_event(found, call, name, path, separator, start)
  elseif path ~= "" then
    add_fields(found, path, separator, start)
  elseif separator == "" then
    local called = at.options and before:find "[{,;]%s*$" and at.called
    if called then add_options(found, (called:gsub("^up%.", "")), start) end
    if not next(found) then add_names(found, start) end
  end
  for one in pairs(found) do words[#words + 1] = one end
  table.sort(words)
  return words
end

-- The same in the way of readline: their common beginning first; that alone where it is more than WORD; nil where there
-- are none.
function complete.for_readline(word, before)
  local words, labels = complete.words(word, before, true)
  if #words < 2 then return words[1] and words or nil end
  local first, last, common = words[1], words[#words], 0
  while common < #first and first:byte(common + 1) == last:byte(common + 1) do common = common + 1 end
  if common > #word then return { first:sub(1, common) } end
  table.insert(words, 1, first:sub(1, common))
  return words, labels
end

return complete
