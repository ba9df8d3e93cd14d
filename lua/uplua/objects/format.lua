-- Where a run's report goes and in which format: text for people; JSON Lines or CSV for programs (--format, --output;
-- doc/formats.md has the schema). What is a table or a shared object is written as data, all else as lines of text.
local failure = require "uplua.base.failure"
local json    = require "uplua.base.json"
local options = require "uplua.options"
local run     = require "uplua.base.run"
local text    = require "uplua.base.text"

local format = {}

local own = run.part(function()
  return {
    path = nil,   -- of the file that the report goes to; nil: standard output
    file = nil,   -- it
    wrong = nil,  -- why something could not be written to it
    name = "text",
    line = "",    -- text whose newline has not come yet
    tables = 0,   -- CSV: how many have been written
    interval = nil, -- what is written now is of: { from, to, length, partial }
    timed = false,  -- whether anything written has a time
    names = {},   -- JSON: columns → the names of their rows' fields
  }
end)

-- True where the report is data, and not text.
function format.is_data() return own().name ~= "text" end

-- True where the report goes to a file that --output names.
function format.is_file() return own().path ~= nil end

-- Remembers WHY something could not be written, unless it was.
local function note(written, why)
  if not written then own().wrong = own().wrong or why end
end

-- What stands for standard output where the report goes to a file.
local Output = {}
Output.__index = Output
function Output:write(...)
  note(own().file:write(...))
  return self
end
function Output:flush()
  note(own().file:flush())
  return own().wrong == nil
end
function Output:setvbuf() return true end

local function write(...) io.stdout:write(...) end

local function data() return require "uplua.objects.data" end


-- LIST as JSON, also where it is empty.
local function json_list(list)
  local parts = {}
  for i, one in ipairs(list) do parts[i] = next(one) == nil and "{}" or json.encode(one) end
  return "[" .. table.concat(parts, ",") .. "]"
end

-- A line of JSON: an object with its TYPE, the fields of HEAD, then those of LISTS, { name, list } each.
local function json_line(kind, head, lists)
  local parts = { ('{"type":"%s"'):format(kind) }
  if next(head) ~= nil then parts[2] = json.encode(head):sub(2, -2) end
  for _, one in ipairs(lists) do parts[#parts + 1] = ('"%s":%s'):format(one[1], json_list(one[2])) end
  write(table.concat(parts, ","), "}\n")
end

-- VALUE as a cell of CSV (RFC 4180).
local function cell(value)
  local shown = value == nil and "" or data().plain(value)
  return shown:find '[,"\r\n]' and '"' .. shown:gsub('"', '""') .. '"' or shown
end

local function csv_line(cells, count)
  for i = 1, count or #cells do cells[i] = cell(cells[i]) end
  write(table.concat(cells, ","), "\n")
end

-- An empty line parts two tables.
local function csv_begin()
  local mine = own()
  if mine.tables > 0 then write "\n" end
  mine.tables = mine.tables + 1
end

-- A line of text.
local function put_text(line)
  if own().name == "json" then
    json_line("text", { text = line, interval = own().interval }, {})
  else -- a table has no place for it
    io.stderr:write(text.escape(line, "\t"), "\n")
  end
end

-- Writes the lines of S that are whole; the rest waits for its newline.
local function add_text(s)
  local mine = own()
  local whole, rest = (mine.line .. s):match "^(.*\n)([^\n]*)$"
  if not whole then
    mine.line = mine.line .. s
    return
  end
  mine.line = rest
  for line in whole:gmatch "[^\n]+" do put_text(line) end
end

-- What the tables, objects and texts that follow are of: FROM one time TO another, PARTIAL true where it ended early;
-- nil: nothing that is known. Returns whether the report is data that says so.
function format.interval(from, to, partial)
  own().timed = own().timed or from ~= nil
  own().interval = from and {
    from = tonumber(from), to = tonumber(to), length = tonumber(to - from), partial = partial or nil,
  }
  return own().name == "json"
end

-- A table for people as data: COLUMNS as uplua.view has them, and ROWS; HEADING is the line above it, or nil.
function format.table(columns, rows, heading)
  if own().name == "csv" then
    format.titles(columns)
    for _, row in ipairs(rows) do format.record(columns, row) end
    return
  end
  local list, described = {}, {}
  for i, column in ipairs(columns) do
    described[i] = { field = column.field, title = column.title, unit = column.unit }
  end
  for i, row in ipairs(rows) do
    list[i] = {}
    for _, column in ipairs(columns) do list[i][column.field] = data().of(row[column.field]) end
  end
  json_line("table", { heading = heading, interval = own().interval }, { { "columns", described }, { "rows", list } })
end

-- The titles of a stream of rows: of CSV, whose rows follow.
function format.titles(columns)
  if own().name ~= "csv" then return end
  csv_begin()
  local titles = {}
  for i, column in ipairs(columns) do titles[i] = column.field end
  csv_line(titles)
end

-- Adds the field NAME as number AT of those that are KNOWN.
local function add_name(known, name, at)
  table.insert(known.list, at, name)
  table.insert(known.keys, at, "," .. json.encode(tostring(name)) .. ":")
  known.has[name] = true
end

-- The names of the fields that rows with COLUMNS have had, those of ROW among them: those of the columns, then the
-- others in alphabetical order; and the same as JSON: ,"NAME": of each.
local function names_of(columns, row)
  local known = own().names[columns]
  if not known then
    known = { list = {}, keys = {}, has = {} }
    for i, column in ipairs(columns) do add_name(known, column.field, i) end
    own().names[columns] = known
  end
  local list, has = known.list, known.has
  for name in pairs(row) do
    if not has[name] then
      local at = #list + 1
      while at > #columns + 1 and tostring(name) < tostring(list[at - 1]) do at = at - 1 end
      add_name(known, name, at)
    end
  end
  return list, known.keys
end

-- What has happened, a ROW of a stream: all its fields, those of COLUMNS first; in CSV these alone.
function format.record(columns, row)
  if own().name == "csv" then
    local cells = {}
    for i, column in ipairs(columns) do cells[i] = cell(row[column.field]) end
    return write(table.concat(cells, ","), "\n")
  end
  own().timed = own().timed or row.time ~= nil
  local names, keys = names_of(columns, row)
  local at = json.raw(0, '{"type":"record"')
  for i = 1, #names do
    local value = row[names[i]]
    local kind = type(value)
    if kind ~= "nil" and (kind ~= "table" or next(value) ~= nil) then
      at = json.value(json.raw(at, keys[i]), value)
    end
  end
  write(json.text(json.raw(at, "}\n")))
end

-- Tables of ENTRIES, called NAME: of numbers and texts one; of distributions one of their figures, and where they are
-- histograms one of the buckets.
local function csv_object(entries, name)
  local first = entries[1] and data().of(entries[1].value)
  local is_distribution = type(first) == "table" and first.count and first.sum
  csv_begin()
  if not is_distribution then
    csv_line { "key", name }
    for _, entry in ipairs(entries) do csv_line({ entry.key, entry.value }, 2) end
    return
  end
  local plain, fields = {}, { "count", "sum", "avg", "min", "max" }
  local function titles(of)
    local line = { "key" }
    for i, field in ipairs(of) do line[i + 1] = name .. "." .. field end
    csv_line(line)
  end
  titles(fields)
  for i, entry in ipairs(entries) do
    local d = data().of(entry.value)
    plain[i] = d
    csv_line({ entry.key, d.count, d.sum, d.avg, d.min, d.max }, 6)
  end
  if not first.buckets then return end
  csv_begin()
  titles { "low", "high", "count" }
  for i, entry in ipairs(entries) do
    for _, bucket in ipairs(plain[i].buckets) do
      csv_line({ entry.key, bucket.low, bucket.high, bucket.count }, 4)
    end
  end
end

-- The shared object or snapshot VALUE as data, under its NAME (nil: that of its variable, where it is known).
function format.object(value, name)
  local kind, entries = data().entries(value)
  for i = #entries, options.top and options.top > 0 and options.top + 1 or math.huge, -1 do entries[i] = nil end
  name = name or rawget(value, "name") or nil
  if own().name == "csv" then
    return csv_object(entries, name or kind)
  end
  for i, entry in ipairs(entries) do entries[i] = { key = data().of(entry.key), value = data().of(entry.value) } end
  json_line("object", { name = name, kind = kind, interval = own().interval }, { { "entries", entries } })
end

-- The last record: what was LOST, { text, count } or { text =, count = } each.
function format.ledger(lost)
  if own().name ~= "json" then return end
  local list = {}
  for i, entry in ipairs(lost) do list[i] = { text = entry[1] or entry.text, count = entry[2] or entry.count } end
  local clock
  if own().timed then
    local monotonic, realtime = text.clocks()
    clock = { monotonic = data().of(monotonic), realtime = data().of(realtime) }
  end
  json_line("ledger", { clock = clock }, { { "lost", list } })
end

-- What print is where the report is data.
local function print_data(...)
  if select("#", ...) == 1 and data().is_object((...)) then return format.object((...)) end
  local parts = {}
  for i = 1, select("#", ...) do parts[i] = tostring((select(i, ...))) end
  add_text(table.concat(parts, "\t") .. "\n")
end

local function write_data(...)
  for i = 1, select("#", ...) do add_text(tostring((select(i, ...)))) end
  return io.stdout
end

-- What print and io.write are where the report goes to a file.
local function write_file(...)
  io.stdout:write(...)
  return io.stdout
end
local function print_file(...)
  local parts = {}
  for i = 1, select("#", ...) do parts[i] = tostring((select(i, ...))) end
  io.stdout:write(table.concat(parts, "\t"), "\n")
end

-- Opens the file that --output names. Raises that it cannot be written.
local function open(path)
  local file, why = io.open(path, "we")
  if not file then failure.mistake(("--output %s"):format(why)) end
  local mine = own()
  mine.path, mine.file = path, file
  io.stdout, io.write, print = setmetatable({}, Output), write_file, print_file
end

-- Has the report go where the run's options say, from now on: called at the begin, and by up.args for what it has read.
function format.begin()
  local mine = own()
  if options.output and not mine.path then open(options.output) end
  local name = options.format or "text"
  if name == mine.name then return end
  if name == "json" then json.plain = data().of end
  mine.name = name
  print, io.write = print_data, write_data
end

-- The end of the report: what waits for its newline, and where the report is. Raises that it could not be written.
function format.finish()
  local mine = own()
  if mine.line ~= "" then add_text "\n" end
  if not mine.path then return end
  note(mine.file:close())
  io.stdout = io.stderr -- whatever comes now is no part of the report
  if mine.wrong then failure.mistake(("--output %s: %s"):format(mine.path, mine.wrong)) end
  failure.report(("the report is in %s"):format(mine.path))
end

return format
