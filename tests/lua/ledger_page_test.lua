-- doc/ledger.md has each cause of a loss that the sources can print, and none that they cannot.
local tap = require "tap"

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

-- What a page shows of a format: its conversions as "…".
local function shown(format)
  format = format:gsub("%%u,%%03u", "…"):gsub("%%%%", "\1"):gsub("%%[%d.]*l*[a-z]", "…"):gsub("\1", "%%")
  format = format:gsub("^%s+", ""):gsub("%s+$", ""):gsub(":$", ": …")
  while format:find "^…:? *" do format = format:gsub("^…:? *", "") end -- the probe, which stands in front
  return format
end

local causes, unresolved = {}, {} -- causes: text → where it is

-- --- in the compiler: what is passed to the functions that make an entry ---

local ENTRY = { "lower_ledger", "probe_ledger", "probe_loss", "ledger_add", "lower_require" }

-- The strings of CODE, a call's arguments, those that stand side by side as one.
local function strings_of(code)
  local list = {}
  code = code:gsub('"%s*"', "")
  for text in code:gmatch '"(.-)"' do list[#list + 1] = text end
  return list
end

-- What the variable NAME of TEXT is set to before BEFORE, the last time.
local function value_of(text, name, before)
  local found
  for at, set in text:gmatch("()%f[%w_]" .. name .. "%[?%]?%s*=%s*(.-;)\n") do
    if at < before and set:find '"' then found = set end
  end
  return found
end

local function add(text, where)
  text = shown(text)
  if text ~= "" then causes[text] = where end
end

-- The causes in a call of NAME at AT of TEXT, with its ARGUMENTS: those that are written there, or what the variable
-- that is passed was set to; none if it is one that the function itself was passed.
local function causes_of(text, name, at, arguments)
  local strings = strings_of(arguments)
  if #strings > 0 and strings[1] ~= "%s, %s:%d" and strings[1] ~= "%s: %s" then return strings end
  local variable = arguments:match(name == "probe_loss" and "^%([^,]+,%s*([%w_]+)" or ",%s*([%w_]+)%)$")
  local set = variable and value_of(text, variable, at)
  if set then return strings_of(set) end
  if variable and variable ~= "what" and variable ~= "cause" then
    unresolved[#unresolved + 1] = ("%s%s"):format(name, arguments)
  end
  return {}
end

local pipe = io.popen "find src/compile -name '*.c' | sort"
for path in pipe:lines() do
  local text = read(path)
  for _, name in ipairs(ENTRY) do
    for at, arguments in text:gmatch("()%f[%w_]" .. name .. "(%b())") do
      local is_definition = text:find("^\n{", at + #name + #arguments)
      for _, cause in ipairs(is_definition and {} or causes_of(text, name, at, arguments)) do
        if name == "lower_require" then causes[cause] = path else add(cause, path) end
      end
    end
  end
end
pipe:close()
tap.is(table.concat(unresolved, "\n"), "", "each entry of the compiler's has a text that was found")

-- --- in Lua: the modules that the ledger and the end of a run ask ---

-- What of CODE is told: its strings of several words, joined where they are.
local function add_sentences(code, path)
  tap.ok(code, path .. " tells of losses")
  code = (code or ""):gsub("%-%-[^\n]*", ""):gsub('"%s*%.%.%s*"', "")
  for text in code:gmatch '"(.-)"' do
    if text:find "%l %l+ %l" then add(text, path) end
  end
end

local function add_function(path, name)
  add_sentences(read(path):match("function " .. name:gsub("%.", "%%.") .. "%(.-\nend"), path)
end

local function file_of(module) return "lua/" .. module:gsub("%.", "/") .. ".lua" end

local LEDGER = "lua/uplua/probe/ledger.lua"
local ledger = read(LEDGER)
add_sentences(ledger:match "LIBRARY = (%b{})", LEDGER)
add_function(LEDGER, "ledger.watch")
add_function(LEDGER, "add_objects")
local asked = 0
for module, name in ledger:match("TELLERS = (%b{})"):gmatch '{ "([%w_.]+)", "(%w+)" }' do
  asked = asked + 1
  add_function(file_of(module), module:match "[%w_]+$" .. "." .. name)
end
for module in ledger:gmatch "([%w_]+)%.lost%(%)" do
  asked = asked + 1
  add_function(file_of(ledger:match("local " .. module .. "%s*= require \"([%w_.]+)\"")), module .. ".lost")
end
tap.is(asked, 12, "modules that tell the ledger of their losses")
for name in read "lua/uplua/run/life.lua":gmatch "([%w_]+)%.lost%(%)" do
  tap.is(name, "counter", "who adds to it at the end")
  add_function("lua/uplua/probe/counter.lua", "counter.lost")
end

-- --- the page ---

local page = read "doc/ledger.md":gsub("%s+", " ")
local named = 0
for cause, where in pairs(causes) do
  named = named + 1
  tap.ok(page:find(cause, 1, true), ("doc/ledger.md has `%s` (%s)"):format(cause, where))
end
tap.ok(named >= 45, "many causes were found: " .. named)

local all = {}
for cause in pairs(causes) do all[#all + 1] = cause end
all = table.concat(all, "\n")
local count = 0
for item in read("doc/ledger.md"):match("\n## .*"):gmatch "\n%- (`.-)\n\n" do
  for cause in item:gsub("%s+", " "):gmatch "`(.-)`" do
    count = count + 1
    tap.ok(all:find(cause, 1, true), ("a source has `%s`"):format(cause))
  end
end
tap.ok(count >= 40, "the page's causes: " .. count)
tap.done_testing()
