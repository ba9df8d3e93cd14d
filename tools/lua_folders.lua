-- Checks what the modules of lua/uplua require against the table "Folders of lua/uplua" in doc/internals.md: no arrow
-- that is not in the table, no folder or public module without its row, and no circle.
local bad = false

local function complain(format, ...)
  io.stderr:write("lint: ", format:format(...), "\n")
  bad = true
end

-- "probe/" for lua/uplua/probe/usdt.lua and for "uplua.probe.usdt", "text" for lua/uplua/text.lua and for "uplua.text".
local function node(path)
  local folder = path:match "^([%w_]+)[./]"
  return folder and folder .. "/" or path
end

-- The table: folder or module → what it may require, as keys.
local allowed, inside = {}, false
for line in io.lines "doc/internals.md" do
  if line:find "^##" then inside = line:find "Folders of lua/uplua" ~= nil end
  local left, right = line:match "^| (`.-) →(.-) |"
  for name in (inside and left or ""):gmatch "`([%w_/]+)`" do
    allowed[name] = {}
    for target in right:gmatch "`([%w_/]+)`" do allowed[name][target] = true end
  end
end
if not next(allowed) then complain 'doc/internals.md: no rows under "Folders of lua/uplua"' end

local function check(file, from, line, number)
  for name in line:gmatch '"uplua%.?([%w_.]*)"' do
    local to = name == "" and "uplua" or node(name)
    if to ~= from and to ~= "core" and to ~= "options" and not allowed[from][to] then
      complain("%s:%d: %s requires %s: doc/internals.md has no such arrow", file, number, from, to)
    end
  end
end

local files = io.popen "find lua/uplua -name '*.lua' | sort"
for file in files:lines() do
  local from, number = node(file:match "^lua/uplua/(.*)%.lua$"), 0
  if not allowed[from] then complain("%s: doc/internals.md has no row for %s", file, from) end
  for line in io.lines(file) do
    number = number + 1
    local code = line:match "^(.-)%-%-" or line
    if allowed[from] and (code:find "require" or code:find "package%.loaded") then check(file, from, code, number) end
  end
end
files:close()

local state = {} -- of a name: "open" while what it may require is looked at, then "done"

local function visit(name, path)
  if state[name] == "done" then return end
  path = path .. " → " .. name
  if state[name] == "open" then return complain("doc/internals.md: a circle of arrows:%s", path) end
  state[name] = "open"
  for target in pairs(allowed[name] or {}) do visit(target, path) end
  state[name] = "done"
end
for name in pairs(allowed) do visit(name, "") end

os.exit(bad and 1 or 0)
