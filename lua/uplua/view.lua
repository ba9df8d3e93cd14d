-- Tables for people: aligned, sorted, fitted to the terminal; the whole table where standard output is a file or a
-- pipe.
--
--   local view = require "uplua.view"
--   local calls = view.new {
--     { "call",  "System call" },             -- a column: the field of the rows that it shows, its title, its unit
--     { "count", "Calls", "count" },
--     { "p99",   "p99",   "ns" },
--     by_process and { "comm", "Process" },   -- false, so that an option can decide: no column
--     who and who.columns,                    -- a list of columns: each of them (uplua.by)
--     by = "count",                           -- the rows' order: the largest first (texts: in alphabetical order)
--     top = 20,                               -- so many rows; nil or 0: all
--   }
--   -- rows: a list of tables with these fields; returns those that it printed, in their order
--   calls:print(rows)
--   -- the same, with a line above; on a terminal over what it has printed before
--   calls:refresh(rows, "12:00:01, 2 of 7" [, from, to])  -- as data, what the numbers are of
--   -- the text, fitted to so many columns
--   calls:text(rows [, width])
--
--   -- for reports that are no table to people: written where the report is data (--format), which is returned
--   if not calls:data(rows) then … end
--   if view.is_data() then … end                 -- whether it is
--   -- what happens, a line each: a column may have a width
--   local opened = view.stream { { "time", "Time", "clock" }, { "comm", "Process", "text", 15 }, { "path", "Path" } }
--   opened:titles()
--   opened:print { time = e.time, comm = e.comm, path = path, stack = e.stack }  -- the stack below the line
--
-- Units: "text" (the default; to the left), "number" (as it is), "count" (1,234,567), "bytes" (1.2 MB), "ns" (1.2 ms),
-- "percent" (12.3 %), "ratio" (0.12), "clock" (12:34:56.123456 of an event's time), "bar" (of 0 to 1), "spark" (of a
-- list of numbers), "histogram" (in data only: people get it below the table). A field that is nil is an empty cell;
-- with zero = "< 100 ns" in a column that is what people see for 0. Cells are escaped. On a narrow terminal the widest
-- texts are cut, then the lines. No two columns have one field or one title.
local C            = require("uplua.contract").C
local failure      = require "uplua.base.failure"
local format       = require "uplua.objects.format"
local interval     = require "uplua.base.interval"
local loop         = require "uplua.base.loop"
local option_table = require "uplua.base.option_table"
local options      = require "uplua.options"
local plot         = require "uplua.plot"
local record       = require "uplua.objects.record"
local tables       = require "uplua.view.table"
local terminal     = require "uplua.term.terminal"
local text         = require "uplua.base.text"

local view = {}
local methods = {}

-- Those of COLUMNS that are not of the UNIT: a "bar" is a drawing and no data, a "histogram" no cell of a table.
local function without(columns, unit)
  local list = {}
  for _, column in ipairs(columns) do
    if column.unit ~= unit then list[#list + 1] = column end
  end
  return list
end

local OPTIONS = { by = option_table.text, top = option_table.integer(0, 2 ^ 53) }
local BAR = 10       -- columns of a bar

local UNITS = {
  text = function(value)
    return text.escape(record.line(value))
  end,
  number = function(value)
    if type(value) == "string" then return text.escape(value) end
    return text.integer(value)
  end,
  count = function(value) return text.thousands(value) end,
  bytes = text.bytes,
  ns = text.time,
  percent = function(value) return ("%.1f %%"):format(value) end,
  ratio = function(value) return ("%.2f"):format(value) end,
  clock = text.clock,
  bar = function(share) return plot.bar(share, BAR) end,
  spark = plot.sparkline,
  histogram = tostring,
}
local TO_THE_LEFT = { text = true, clock = true, bar = true, spark = true }
local CLOCK_WIDTH = 15

-- Column I of a declaration. Raises what is wrong with it at the line that called view.new.
local function check_column(i, given)
  local unit = type(given) == "table" and given[3] or "text"
  if type(given) ~= "table" or type(given[1]) ~= "string" or type(given[2]) ~= "string"
    or type(given[4] or 0) ~= "number" then
    error(("view: column %d is { field, title, unit }, and of a stream its width"):format(i), 4)
  end
  if not UNITS[unit] then
    local near = text.did_you_mean(tostring(unit), UNITS)
    error(("view: column %d: there is no unit '%s'%s; units are %s")
      :format(i, tostring(unit), near, table.concat(text.keys(UNITS), ", ")), 4)
  end
  local width = given[4] or unit == "clock" and CLOCK_WIDTH or 0
  local show, zero = UNITS[unit], given.zero
  local function show_or_zero(value) return value == 0 and zero or show(value) end
  return { field = given[1], title = given[2], unit = unit, width = width, show = zero and show_or_zero or show,
           to_the_left = TO_THE_LEFT[unit], option = given.option }
end

-- Raises it where COLUMN, the Ith of a declaration, has the field or the title of another one of SEEN: people could not
-- tell them apart. Of a column that the script's user has asked for by an option, the user is told.
local function check_name(column, i, seen)
  for what, name in pairs { field = column.field, title = column.title } do
    local before = name ~= "" and seen[what .. name]
    local option = column.option or before and before.option
    if before and option then
      failure.mistake(("%s: there is another column of the name '%s'; name this one: %s NAME=EXPR")
        :format(option, text.escape(name), option))
    elseif before then
      error(("view: column %d: there is another one whose %s is '%s'"):format(i, what, name), 4)
    end
    seen[what .. name] = column
  end
end

-- Adds COLUMN, unless it is one of --by and the script shows its field already.
local function add_column(columns, column, i, seen)
  if column.option == "--by" and seen["field" .. column.field] then return end
  check_name(column, i, seen)
  columns[#columns + 1] = column
end

local function check_columns(declaration)
  local columns, seen = {}, {}
  for i = 1, table.maxn(declaration) do
    local given = declaration[i]
    local several = type(given) == "table" and type(given[1] or {}) == "table"
    for _, one in ipairs(several and given or { given or nil }) do
      add_column(columns, check_column(i, one), i, seen)
    end
  end
  if #columns == 0 then error("view: there are no columns; give { field, title, unit } for each", 3) end
  return columns
end

-- ROWS in the view's order, no more than its top.
local function arranged(self, rows) return tables.arranged(self.columns, rows, self.by, self.top, self.reversed) end

local function check_rows(rows)
  if type(rows) ~= "table" then error("view: rows is a list of tables with the columns' fields", 3) end
end

-- The table of ROWS as text, the titles first, in WIDTH columns (nil: the terminal's, or as wide as it is). Raises what
-- is wrong with ROWS.
function methods:text(rows, width)
  check_rows(rows)
  if type(width or 0) ~= "number" then error("view: the width is a number, not a " .. type(width), 2) end
  return table.concat(tables.draw(self.columns, arranged(self, rows), width or (terminal.size())), "\n")
end

-- The columns that the report has; nil: as many as it takes.
local function width_of_report()
  if format.is_file() then return nil end
  return (terminal.size())
end

-- Whether ROWS are shown under HEADING where they live: on a terminal that nobody else writes on or reads from.
local function is_shown_live(self, rows, heading)
  local on_screen = terminal.interactive() and select(2, terminal.size()) ~= nil and not format.is_file()
  return on_screen and require "uplua.view.live".show(self, rows, heading)
end

-- Prints it, or in a report of an interval has it live on the terminal (up.report). Returns a list of the rows that
-- were printed, in their order.
function methods:print(rows)
  check_rows(rows)
  local lives, heading = interval.now()
  if lives and not format.is_data() and is_shown_live(self, rows, heading) then
    interval.take()
    return {}
  end
  interval.print()
  local list = arranged(self, rows)
  if format.is_data() then
    format.table(self.data_columns, list)
  else
    io.stdout:write(table.concat(tables.draw(self.columns, list, width_of_report()), "\n"), "\n")
  end
  return list
end

-- Prints it under HEADING, a line. On a terminal that nobody else writes on or reads from, it lives there
-- (view/live.lua); on another one it takes the place of what refresh printed before, and no more than the screen's
-- rows; elsewhere an empty line parts them.
function methods:refresh(rows, heading, from, to)
  check_rows(rows)
  if type(heading or "") ~= "string" then error("view: the heading is a text, not a " .. type(heading), 2) end
  if format.is_data() then
    if from and to then format.interval(from, to, loop.stopping() ~= nil) end
    format.table(self.data_columns, arranged(self, rows), heading)
    format.interval(nil)
    return
  end
  local columns, height = width_of_report(), select(2, terminal.size())
  local on_screen = terminal.interactive() and height ~= nil and not format.is_file()
  if on_screen and require "uplua.view.live".show(self, rows, heading) then return end
  local list = arranged(self, rows)
  local in_place = on_screen and not loop.stopping()
  if in_place then -- the heading, the titles, and the cursor's line
    for i = #list, math.max(1, height - (heading and 3 or 2)) + 1, -1 do list[i] = nil end
  end
  local lines = tables.draw(self.columns, list, columns)
  if heading then
    table.insert(lines, 1, columns and text.cut(text.escape(heading), columns) or text.escape(heading))
  end
  if self.printed then io.stdout:write(in_place and ("\27[%dA\27[J"):format(self.printed) or "\n") end
  io.stdout:write(table.concat(lines, "\n"), "\n")
  io.stdout:flush()
  self.printed = #lines
end

-- Where the report is data, and not text: writes ROWS as a table, under HEADING if it is given. Returns whether it is.
function methods:data(rows, heading)
  check_rows(rows)
  if not format.is_data() then return false end
  format.table(self.data_columns, arranged(self, rows), heading)
  return true
end

local metatable = { __index = methods }

-- A view with the columns of DECLARATION, and its `by` and `top`. Raises what is wrong with it.
function view.new(declaration)
  if type(declaration) ~= "table" then
    error("view: declare its columns in a table: { { \"field\", \"Title\", \"count\" }, … }", 2)
  end
  local columns, given = check_columns(declaration), option_table.read("view", option_table.named(declaration), OPTIONS)
  return setmetatable({
    columns = without(columns, "histogram"), data_columns = without(columns, "bar"), by = given.by, reversed = false,
    top = given.top or options.top, printed = false,
  }, metatable)
end

-- is_data(): whether the report is data, and not text for people (--format).
function view.is_data() return format.is_data() end

local Stream = {}
Stream.__index = Stream

local PLAIN = ""
for byte = 32, 126 do PLAIN = PLAIN .. string.char(byte) end

-- True if VALUE is printable ASCII: it needs no escape, and has as many columns as bytes. LuaJIT compiles the call of a
-- function of C, and no pattern: streams are long.
local function is_plain(value)
  return tonumber(C.strspn(value, PLAIN)) == #value
end

-- VALUE as COLUMN shows it, in its width; FIRST: at the begin of a line. Two spaces stand before what begins at the
-- left, one before a number.
local function stream_cell(column, value, first)
  local cell
  if column.unit == "text" and type(value) == "string" and is_plain(value) then
    cell = value
  else
    cell = value == nil and "" or column.show(value)
  end
  local space, at_left = column.width - (is_plain(cell) and #cell or text.width(cell)), TO_THE_LEFT[column.unit]
  local before = first and "" or at_left and "  " or " "
  if space <= 0 then return before .. cell end
  return at_left and before .. cell .. (" "):rep(space) or before .. (" "):rep(space) .. cell
end

local function without_end(line)
  local last = #line
  while last > 0 and line:byte(last) == 32 do last = last - 1 end
  return last == #line and line or line:sub(1, last)
end

-- Prints the titles. As data: those of CSV.
function Stream:titles()
  if format.is_data() then return format.titles(self.columns) end
  local line = ""
  for c, column in ipairs(self.columns) do
    local like = { unit = TO_THE_LEFT[column.unit] and "text" or "number", show = tostring, width = column.width }
    line = line .. stream_cell(like, column.title, c == 1)
  end
  io.stdout:write(without_end(line), "\n")
end

-- A function that writes a row's cells, which COLUMNS show. Straight code: LuaJIT compiles no loop in what a ring calls
-- for each record, and writes each cell without making the line first.
local function writer_of(columns)
  local code = { "local cell, file, columns, without_end = ...\n" }
  for c = 1, #columns do code[#code + 1] = ("local column%d = columns[%d]\n"):format(c, c) end
  code[#code + 1] = "return function(row)\n"
  local cells = {}
  for c, column in ipairs(columns) do
    cells[c] = "cell" .. c
    code[#code + 1] = ("  local cell%d = cell(column%d, row[%q], %s)\n"):format(c, c, column.field, tostring(c == 1))
  end
  local last = cells[#cells]
  code[#code + 1] = ("  if %s:byte(-1) == 32 then file:write((without_end(%s))) else file:write(%s) end\nend\n")
    :format(last, table.concat(cells, " .. "), table.concat(cells, ", "))
  return assert(loadstring(table.concat(code), "=view"))(stream_cell, io.stdout, columns, without_end)
end

-- Prints ROW as a line, and below it the lines of BELOW, a list, if it is given, and ROW's field `stack`. As data, all
-- fields of ROW.
function Stream:print(row, below)
  if type(row) ~= "table" then error("stream:print: a row is a table with the columns' fields", 2) end
  if format.is_data() then return format.record(self.columns, row) end
  self.write(row)
  if below or row.stack then
    local lines = {}
    for _, one in ipairs(below or {}) do lines[#lines + 1] = text.escape(one) end
    if row.stack then lines[#lines + 1] = tostring(row.stack) end
    if lines[1] then io.stdout:write("\n", table.concat(lines, "\n")) end
  end
  io.stdout:write "\n"
end

local WIDE = 120 -- columns of a file or a pipe

-- room(): the columns that are left for the last column, and those of a line: the terminal's, or 120.
function Stream:room()
  local taken, width = 0, terminal.size() or WIDE
  for c = 1, #self.columns - 1 do taken = taken + self.columns[c].width + 2 end
  return math.max(0, width - taken), width
end

-- A stream of lines with the columns of DECLARATION. Raises what is wrong with it.
function view.stream(declaration)
  if type(declaration) ~= "table" then
    error("view: declare a stream's columns in a table: { { \"field\", \"Title\", \"count\", 12 }, … }", 2)
  end
  local columns = check_columns(declaration)
  option_table.read("stream", option_table.named(declaration), {})
  return setmetatable({ columns = columns, write = writer_of(columns) }, Stream)
end

return view
