-- uplua tools/api/check.lua    compares the API that there is with the one that lua/uplua/api/ declares: names of the
-- root table, of modules, methods and fields of events; and what scripts, examples and the manual use of it
local up      = require "uplua"
local entries = require "uplua.api.entries"

-- Fields of public modules that are for uplua itself.
local INTERNAL = { ["uplua.args"] = "args parse" }

-- Of each class an object, and those of its methods that are for uplua itself.
local CLASSES = {
  Map = { function() return up.hash() end, "bind" },
  Aggregation = { function() return up.sum() end, "bind leave inc" },
  Count = { function() return up.count() end, "bind leave" },
  Summary = { function() return up.stats() end, "bind leave inc" },
  Histogram = { function() return up.hist() end, "bind leave inc" },
  Snapshot = { function() return require "uplua.objects.snapshot".single(0) end, "" },
  Variable = { function() return up.var(0) end, "bind" },
  Ring = { function() return up.ring() end, "bind drain" },
  Buffer = { function() return require "uplua.objects.buffer".of("", 0) end, "" },
  Probe = { function() return require "uplua.probe.handle".new("uprobe", "", print) end, "bind take drop forget wake" },
  Stack = { function() return require "uplua.stack.stack".intern(1) end, "" },
  Counter = { function() return require "uplua".counter "task-clock" end, "" },
  Timer = { function() return up.after("1h", print) end, "" },
  AllocatorTrace = { function() return require "uplua.allocators.report".new {} end, "" },
  View = { function() return require "uplua.view".new { { "a", "A" } } end, "" },
}

local bad = false
local function complain(format, ...)
  io.stderr:write("lint: ", format:format(...), "\n")
  bad = true
end

local function set_of(words)
  local set = {}
  for word in words:gmatch "%S+" do set[word] = true end
  return set
end

-- The declarations by owner ("" for the root table, a class or a module) and by name, without the owner.
local function declarations()
  local owners = setmetatable({}, { __index = function(t, k) t[k] = {} return t[k] end })
  for _, one in ipairs(entries.all()) do
    local owner = one.class or one.module or ""
    local name = owner == "" and one.name or one.path:match "^[%w_]+[.:]([%w_]+)"
    if owners[owner][name] then complain("lua/uplua/api: %s is declared twice", one.path) end
    owners[owner][name] = one
  end
  return owners
end

local HOW = "declare it in a row of lua/uplua/api/ (doc/internals.md, \"The manual of the API\")"

-- Compares the names that THERE is of OWNER with those DECLARED.
local function compare(owner, there, declared)
  for name in pairs(there) do
    if not declared[name] then complain("%s%s is public and not in the manual: %s", owner, name, HOW) end
  end
  for name, one in pairs(declared) do
    if not there[name] then complain("lua/uplua/api: there is no %s (\"%s\")", one.path, one.chapter.title) end
  end
end

-- The table `methods` of OBJECT: what its metatable's __index is, or looks into.
local function methods_of(object)
  local index = debug.getmetatable(object).__index
  if type(index) == "table" then return index end
  for i = 1, math.huge do
    local name, value = debug.getupvalue(index, i)
    if not name then return {} end
    if name == "methods" then return value end
  end
end

local function check_classes(owners)
  local list, types = entries.types()
  for _, one in ipairs(list) do
    if types[one[1]] ~= one then complain("lua/uplua/api: the type %s is declared twice", one[1]) end
  end
  for class, how in pairs(CLASSES) do
    local there, internal = {}, set_of(how[2])
    local made, object = pcall(how[1]) -- a counter needs rights
    for name, value in pairs(made and methods_of(object) or {}) do
      if type(value) == "function" and not name:find "^__" and not internal[name] then there[name] = true end
    end
    local declared, ancestor = {}, class
    while ancestor do
      for name, one in pairs(owners[ancestor]) do
        if one.arguments then declared[name] = one end
      end
      ancestor = types[ancestor].parent
    end
    -- What values have, and the objects pass on.
    if class == "Histogram" then there.percentile, there.buckets = true, true end
    if made then compare(class .. ":", there, declared) end
  end
end

-- The fields of events, as the compiler has them.
local function check_events(owners)
  local there = set_of "args vars regs nargs stack ustack kstack"
  local source = assert(io.open "src/compile/providers/providers.c"):read "*a"
  for name in source:gmatch '{%.name = "([%w_]+)"' do there[name] = true end
  for n in source:gmatch "{ARGUMENT%((%d+)%)}" do
    if tonumber(n) < 8 then there["arg" .. n] = true end -- the rest is for tests
  end
  compare("e.", there, owners.Event)
end

local function public_modules()
  local modules = { uplua = true }
  for _, chapter in ipairs(entries.chapters()) do
    for _, module in pairs(chapter.modules or {}) do modules[module] = true end
  end
  return modules
end

local function check_modules(owners, modules)
  for module in pairs(modules) do
    local there, internal = {}, set_of(INTERNAL[module] or "")
    for name in pairs(module ~= "uplua" and require(module) or {}) do there[name] = not internal[name] or nil end
    if module ~= "uplua" then compare(module .. ".", there, owners[module]) end
  end
  for path in io.popen "ls lua/uplua/*.lua":lines() do
    local module = path:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/", ".")
    if not modules[module] then
      complain("%s: what stands at the top of lua/uplua is public: declare it, or move it into a folder", path)
    end
  end
end

-- Calls VISIT(line, its number) for the code of FILE: all of it, or in the manual what is in code blocks and spans.
local function each_code(file, visit)
  local number, inside, manual = 0, false, file:find "%.md$"
  for line in io.lines(file) do
    number = number + 1
    if line:find "^%s*```" then
      inside = not inside
    elseif not manual then
      visit(line:gsub("^%s*%-%-.*", ""), number)
    elseif inside then
      visit(line, number)
    else
      for span in line:gmatch "`([^`]+)`" do visit(span, number) end
    end
  end
end

local function check_uses(owners, modules)
  for file in io.popen "ls scripts/*.lua examples/*.lua doc/*.md doc/scripts/*.md README.md":lines() do
    each_code(file, function(line, number)
      for module in line:gmatch 'require%s*%(?%s*"(uplua[%w_.]*)"' do
        if not modules[module] then
          complain("%s:%d: %s is not public: doc/api.md has what is", file, number, module)
        end
      end
      for name in line:gmatch "%f[%w_]up%.([%a_][%w_]*)" do
        local known = owners[""][name] or name:find "_$" or file == "doc/internals.md"
        if not known then complain("%s:%d: there is no up.%s", file, number, name) end
      end
    end)
  end
end

local owners, modules = declarations(), public_modules()
compare("up.", getmetatable(up).names, owners[""])
check_classes(owners)
check_events(owners)
check_modules(owners, modules)
check_uses(owners, modules)
up.exit(bad and 1 or 0)
