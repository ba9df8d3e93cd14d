-- --test: runs a library's tests, the scripts whose names end in _test.lua (uplua.test), each in a process of its own,
-- and joins what they print to one report by the Test Anything Protocol.
local cli    = require "uplua.run.cli"
local system = require "uplua.core".system
local text   = require "uplua.base.text"

local tests = {}

local function quote(word) return "'" .. word:gsub("'", "'\\''") .. "'" end

local function add_tests(list, folder)
  for _, name in ipairs(system.names(folder) or {}) do
    local path = folder .. "/" .. name
    if name:find "_test%.lua$" and system.is_file(path) then list[#list + 1] = path end
  end
end

-- The tests of WHAT, a library's folder or one test, and that library's folder: tests stand in it, or in its folder
-- tests. Raises that there are none.
local function find(what)
  local path = system.real_path(what)
  if not path then cli.wrong("--test: there is no %s", what) end
  if system.is_file(path) and not path:find "_test%.lua$" then
    cli.wrong("--test: %s is no test: these are scripts whose names end in _test.lua", what)
  end
  if system.is_file(path) then return { path }, (path:match "^(.*)/[^/]*$":gsub("/tests$", "")) end
  local list = {}
  add_tests(list, path)
  add_tests(list, path .. "/tests")
  table.sort(list)
  if #list == 0 then
    cli.wrong("--test: %s has no tests: scripts whose names end in _test.lua, in it or in its folder tests", what)
  end
  return list, (path:gsub("/tests$", ""))
end

-- $UPLUA_PATH for the tests of the library FOLDER: its modules, and its scripts by name, before what else there is.
local function search_path(folder)
  local before = system.environment "UPLUA_PATH"
  return ("%s:%s/scripts%s"):format(folder, folder, before and before ~= "" and ":" .. before or "")
end

-- Runs the test at PATH. Its checks go on from NUMBER: prints them, and returns the last one's number, and how many of
-- them have failed and were skipped.
local function run_one(path, environment, number)
  local name, failed, skipped, printed, planned = path:match "[^/]*$", 0, 0, 0, nil
  local pipe = io.popen(("%s %s %s </dev/null; echo status $?"):format(environment, quote(system.executable()),
    quote(path)))
  local status
  for line in pipe:lines() do
    local outcome, rest = line:match "^(n?o?t? ?ok)%f[%W]%s*%d*(.*)$"
    if outcome == "ok" or outcome == "not ok" then
      printed, number = printed + 1, number + 1
      failed = failed + (outcome == "ok" and 0 or 1)
      skipped = skipped + (rest:find "^%s*# SKIP" and 1 or 0)
      line = ("%s %d%s"):format(outcome, number, rest:gsub("^ %- ", function() return (" - %s: "):format(name) end, 1))
    end
    status, planned = line:match "^status (%d+)$" or status, tonumber(line:match "^1%.%.(%d+)$") or planned
    if not line:find "^1%.%.%d+$" and not line:find "^status %d+$" then print(line) end
    io.stdout:flush()
  end
  pipe:close()
  local wrong = printed == 0 and status == "0" and "checks nothing" or
    planned ~= printed and ("ended early, with status %s"):format(status) or
    status ~= "0" and failed == 0 and ("ended with status %s"):format(status)
  if wrong then
    number, failed = number + 1, failed + 1
    print(("not ok %d - %s: %s"):format(number, name, wrong))
  end
  return number, failed, skipped
end

-- run(what) → exit status: 0 if all checks have passed. Raises that there is nothing to run.
function tests.run(what)
  local list, folder = find(what)
  if folder:find ":" then cli.wrong("--test: a folder with a colon in its name cannot be searched: %s", folder) end
  local environment = "UPLUA_PATH=" .. quote(search_path(folder))
  local number, failed, skipped = 0, 0, 0
  print "TAP version 13"
  for _, path in ipairs(list) do
    local bad, left_out
    number, bad, left_out = run_one(path, environment, number)
    failed, skipped = failed + bad, skipped + left_out
  end
  print(("1..%d"):format(number))
  print(("# %s passed, %d failed, %d skipped"):format(text.plural(number - failed - skipped, "check"), failed, skipped))
  return failed > 0 and 1 or 0
end

return tests
