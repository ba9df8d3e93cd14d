-- tools/manual.lua    checks the manual: short table cells, a "Where is …?" table whose files and functions exist, and
-- each file of the compiler in its page
local MAX_CELL = 200 -- characters; a longer text belongs below its table

local bad = false

local function complain(format, ...)
  io.stderr:write("lint: ", format:format(...), "\n")
  bad = true
end

-- The cells of a table's row; a | in one is written \|.
local function cells_of(row)
  local cells = {}
  row = row:gsub("\\|", "/")
  for cell in row:match("^|(.*)|%s*$"):gmatch "[^|]+" do cells[#cells + 1] = cell:match "^%s*(.-)%s*$" end
  return cells
end

local function width_of(text)
  return select(2, text:gsub("[^\128-\191]", ""))
end

-- Calls VISIT(cells, line number, heading) for each row of FILE's tables.
local function each_row(file, visit)
  local number, code, heading = 0, false, ""
  for line in io.lines(file) do
    number = number + 1
    if line:find "^```" then code = not code end
    if not code then
      heading = line:match "^#+ (.*)" or heading
      if line:find "^|.*|%s*$" then visit(cells_of(line), number, heading) end
    end
  end
end

local function check_widths(file)
  each_row(file, function(cells, number)
    for _, cell in ipairs(cells) do
      local width = width_of(cell)
      if width > MAX_CELL then
        complain("%s:%d: a cell of %d characters, more than %d: move text below the table", file, number, width, MAX_CELL)
      end
    end
  end)
end

-- True if the text of a C or Lua file defines NAME, such as program_spill or methods:percentile.
local function defines(text, name)
  name = name:gsub("%p", "%%%0")
  for line in text:gmatch "[^\n]+" do
    if line:find("^[%w_].*%f[%w_]" .. name .. "%f[^%w_]%s*%(") or line:find("^%s*local function " .. name .. "%f[^%w_]") then
      return true
    end
  end
  return false
end

local function check_places(file)
  local count = 0
  each_row(file, function(cells, number, heading)
    local name = (cells[3] or ""):match "^`(.*)`$"
    if heading ~= "Where is …?" or not name then return end
    count = count + 1
    local source = io.open(cells[2])
    if not source then return complain("%s:%d: there is no file %s", file, number, cells[2]) end
    if not defines(source:read "*a", name) then complain("%s:%d: %s has no function %s", file, number, cells[2], name) end
    source:close()
  end)
  if count < 40 then complain("%s: %d questions under \"Where is …?\", fewer than 40", file, count) end
end

-- Each file that is compiled below FOLDER is named in its page; but for the kinds of probes, whose list is providers.h.
local function check_pipeline(file, folder)
  local page = io.open(file):read "*a"
  local find = "find %s -mindepth 2 -name '*.c' ! -path '*/providers/*' | sort"
  for path in io.popen(find:format(folder)):lines() do
    if not page:find("`" .. path:match "[^/]*$" .. "`", 1, true) then complain("%s does not name %s", file, path) end
  end
end

for file in io.popen("git ls-files '*.md' 2>/dev/null || find . -name '*.md'"):lines() do check_widths(file) end
check_places "doc/internals.md"
check_pipeline("src/compile/README.md", "src/compile")
os.exit(bad and 1 or 0)
