-- The API of 1.0 stays: for each public name tests/api-1.0/ has a script as it was written for 1.0, which still does
-- the same. Such a script is never changed; a name that is added gets one for its version.
--
-- What it prints stands in its last lines, behind `-->`. Its first line says where it runs: "on the shop" is on
-- examples/shop, "with watchpoint" needs that feature of the kernel; where that is missing, it compiles.
-- Limit: 600 s
local help   = require "uplua.api.help"
local tap    = require "tap"
local target = require "target"

local FOLDER = "tests/api-1.0/"

-- The file of the public name NAME: "Probe:detach" is Probe.detach.lua, "e.args.NAME" e.args.lua.
local function file_of(name) return (name:gsub(":", "."):gsub("%.NAME$", "")) .. ".lua" end

-- The script's text, and what it prints.
local function read(path)
  local code, expected = target.read(path), {}
  for line in code:gmatch "\n%-%-> ?([^\n]*)" do expected[#expected + 1] = line end
  return code, table.concat(expected, "\n")
end

-- Runs the scripts of LIST, { file, options, on_shop } each, eight at a time: they wait more than they compute. What
-- they print, their errors and statuses are files of the folder that it returns.
local function run_all(list)
  local folder, lines = target.folder(), {}
  for i, one in ipairs(list) do
    lines[i] = ("%s %s %s\n"):format(one.file, one.options, one.on_shop and "-- ./shop" or "")
  end
  local file = assert(io.open(folder .. "/list", "w"))
  file:write(table.concat(lines))
  file:close()
  os.execute(([[
    cd build/examples && D=%s && xargs -P 8 -d '\n' -I LINE sh -c '
      set -- LINE; file=$1; shift; options=; [ "$1" != --explain ] || { options=$1; shift; }
      ../../uplua $options "../../%s$file" "$@" >"$0/$file.out" 2>"$0/$file.err" </dev/null
      echo $? >"$0/$file.status"
    ' "$D" <"$D/list"
  ]]):format(folder, FOLDER))
  return folder
end

-- Text without what the shop says.
local function without_shop(text)
  local lines = {}
  for line in text:gmatch "[^\n]+" do
    if not line:find "^%d+ orders, income" then lines[#lines + 1] = line end
  end
  return table.concat(lines, "\n")
end

local function check(one, folder)
  local out = folder .. "/" .. one.file
  local ran = one.options == ""
  local good = tap.is(target.read(out .. ".status"), "0\n", one.name .. (ran and " runs" or " compiles"))
  if ran then
    local printed = without_shop(target.read(out .. ".out"))
    good = tap.is(printed, one.expected, one.name .. " does what it did in 1.0") and good
  end
  if not good then io.stderr:write(target.read(out .. ".err")) end
end

local files, missing, list = {}, {}, {}
for path in io.popen("ls " .. FOLDER):lines() do files[path] = true end
for _, name in ipairs(help.names()) do
  local file = file_of(name)
  if files[file] then
    files[file] = nil
    local code, expected = read(FOLDER .. file)
    local head = code:match "^[^\n]*"
    local feature = head:match "with ([%w_]+)"
    local options = feature and not target.has(feature) and "--explain" or ""
    local on_shop = head:find "on the shop"
    list[#list + 1] = { name = name, file = file, expected = expected, options = options, on_shop = on_shop }
  else
    missing[#missing + 1] = name
  end
end
local folder = run_all(list)
for _, one in ipairs(list) do check(one, folder) end
tap.is(table.concat(missing, " "), "", "each public name has a script in " .. FOLDER)
for file in pairs(files) do tap.ok(false, FOLDER .. file .. ": its name is gone from the API") end
target.done()
tap.done_testing()
