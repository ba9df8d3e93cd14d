-- tools/folders.lua              checks which folders use which against the tables of doc/internals.md
-- tools/folders.lua --picture    draws the folders of src, from the includes, as a mermaid diagram
--
-- "Folders of src" says which folder may include which, "Folders of lua/uplua" which may require which. No arrow that is
-- not in its table, no folder without its row, and no circle.
local bad = false

local function complain(format, ...)
  io.stderr:write("lint: ", format:format(...), "\n")
  bad = true
end

local function lines_of(command)
  local out, list = io.popen(command), {}
  for line in out:lines() do list[#list + 1] = line end
  out:close()
  return list
end

-- The table under HEADING: folder or module → what it may use, as keys. "all the others" is what it says, for who stands
-- above them.
local function read_table(heading)
  local allowed, inside = {}, false
  for line in io.lines "doc/internals.md" do
    if line:find "^##" then inside = line:find(heading, 1, true) ~= nil end
    local left, right = line:match "^| (`.-) →(.-) |"
    for name in (inside and left or ""):gmatch "`([%w_/]+)`" do
      local all = right:find "^ all the others" ~= nil
      allowed[name] = setmetatable({}, { __index = function() return all end })
      for target in right:gmatch "`([%w_/]+)`" do allowed[name][target] = true end
    end
  end
  if not next(allowed) then complain('doc/internals.md: no rows under "%s"', heading) end
  return allowed
end

local function check_circles(allowed)
  local state = {} -- of a name: "open" while what it may use is looked at, then "done"
  local function visit(name, path)
    if state[name] == "done" then return end
    path = path .. " → " .. name
    if state[name] == "open" then return complain("doc/internals.md: a circle of arrows:%s", path) end
    state[name] = "open"
    for target in pairs(allowed[name] or {}) do visit(target, path) end
    state[name] = "done"
  end
  for name in pairs(allowed) do visit(name, "") end
end

-- --- Lua: what modules require ---

-- "probe/" for lua/uplua/probe/usdt.lua and for "uplua.probe.usdt", "text" for lua/uplua/text.lua and for "uplua.text".
local function module_node(path)
  local folder = path:match "^([%w_]+)[./]"
  return folder and folder .. "/" or path
end

local EVERYBODYS = { core = true, options = true, contract = true }

local function check_lua()
  local allowed = read_table "Folders of lua/uplua"
  for _, file in ipairs(lines_of "find lua/uplua -name '*.lua' | sort") do
    local from, number = module_node(file:match "^lua/uplua/(.*)%.lua$"), 0
    if not allowed[from] then complain("%s: doc/internals.md has no row for %s", file, from) end
    local quoted = false -- inside of a text, such as an example of the manual's
    for line in io.lines(file) do
      number = number + 1
      if line:find "%[==%[$" then quoted = true elseif line:find "^%]==%]" then quoted = false end
      local code = not quoted and (line:match "^(.-)%-%-" or line) or ""
      local uses = allowed[from] and (code:find "require" or code:find "package%.loaded")
      for name in (uses and code or ""):gmatch '"uplua%.?([%w_.]*)"' do
        local to = name == "" and "uplua" or module_node(name)
        if to ~= from and not EVERYBODYS[to] and not allowed[from][to] then
          complain("%s:%d: %s requires %s: doc/internals.md has no such arrow", file, number, from, to)
        end
      end
    end
  end
  check_circles(allowed)
end

-- --- C: what files include ---

-- Calls VISIT(file, line number, folder, the folder that is included) for each include of a file of the tree.
local function each_include(visit)
  for _, file in ipairs(lines_of "find src -name '*.[chS]' | sort") do
    local from, number = file:match "^src/(.*)/[^/]*$" or "main", 0
    for line in io.lines(file) do
      number = number + 1
      local to = line:match '^#include "%.%./(bpf)/' or line:match '^#include "([^"]+)/[^/"]+"'
      if to and to ~= from then visit(file, number, from, to) end
    end
  end
end

local function check_c()
  local allowed = read_table "Folders of src"
  each_include(function(file, number, from, to)
    if not allowed[from] then return complain("%s: doc/internals.md has no row for %s", file, from) end
    if not allowed[from][to] then
      complain("%s:%d: %s includes %s: doc/internals.md has no such arrow", file, number, from, to)
    end
  end)
  check_circles(allowed)
end

-- An arrow is left out where others lead there, too, and base, sys and arch, which everybody may use: what remains is
-- how the parts stand upon each other.
local function draw()
  local arrows, below = {}, { base = true, sys = true, arch = true, bpf = true }
  each_include(function(_, _, from, to)
    if below[from] or below[to] then return end
    arrows[from] = arrows[from] or {}
    arrows[from][to] = true
  end)
  local function leads(from, to, seen)
    for by in pairs(arrows[from] or {}) do
      if by == to then return true end
      if not seen[by] then
        seen[by] = true
        if leads(by, to, seen) then return true end
      end
    end
    return false
  end
  local list = {}
  for from, targets in pairs(arrows) do
    for to in pairs(targets) do
      targets[to] = nil
      local circle = leads(to, from, {})
      if circle or not leads(from, to, {}) then
        list[#list + 1] = ("    %s --> %s"):format(from, to)
      end
      targets[to] = true
    end
  end
  table.sort(list)
  print("```mermaid\ngraph TD\n" .. table.concat(list, "\n") .. "\n```")
end

if arg[1] == "--picture" then
  draw()
else
  check_c()
  check_lua()
end
os.exit(bad and 1 or 0)
