-- Tables for people: aligned, sorted, fitted to the terminal; the whole table where standard output is a file or a
-- pipe.
--
--   local view = require "uplua.view"
--   local calls = view.new {
--     { "call",  "System call" },             -- a column: the field of the rows that it shows, its title, its unit
--     { "count", "Calls", "count" },
--     { "p99",   "p99",   "ns" },
--     by_process and { "comm", "Process" },   -- false, so that an option can decide: no column
--     by = "count",                           -- the rows' order: the largest first (texts: in alphabetical order)
--     top = 20,                               -- so many rows; nil or 0: all
--   }
--   -- rows: a list of tables with these fields; returns those that it printed, in their order
--   calls:print(rows)
--   -- the same, with a line above; on a terminal over what it has printed before
--   calls:refresh(rows, "12:00:01, 2 of 7")
--   -- the text, fitted to so many columns
--   calls:text(rows [, width])
--
-- Units: "text" (the default; to the left), "number" (as it is), "count" (1,234,567), "bytes" (1.2 MB), "ns" (1.2 ms),
-- "percent" (12.3 %). A field that is nil is an empty cell. Cells are escaped. On a narrow terminal the widest texts
-- are cut, then the lines.
local option_table = require "uplua.base.option_table"
local order        = require "uplua.objects.order"
local record       = require "uplua.objects.record"
local terminal     = require "uplua.term.terminal"
local text         = require "uplua.base.text"

local view = {}
local methods = {}

local OPTIONS = { by = option_table.text, top = option_table.integer(0, 2 ^ 53) }
local NARROWEST = 8 -- columns to which texts are cut before lines are

local UNITS = {
  text = function(value) return text.escape(record.show(value)) end,
  number = function(value) return type(value) == "number" and ("%.14g"):format(value) or text.integer(value) end,
  count = function(value) return text.thousands(value) end,
  bytes = text.bytes,
  ns = text.time,
  percent = function(value) return ("%.1f %%"):format(value) end,
}

-- Column I of a declaration. Raises what is wrong with it at the line that called view.new.
local function check_column(i, given)
  local unit = type(given) == "table" and given[3] or "text"
  if type(given) ~= "table" or type(given[1]) ~= "string" or type(given[2]) ~= "string" then
    error(("view: column %d is { field, title, unit }"):format(i), 4)
  end
  if not UNITS[unit] then
    local near = text.did_you_mean(tostring(unit), UNITS)
    error(("view: column %d: there is no unit '%s'%s; units are %s")
      :format(i, tostring(unit), near, table.concat(text.keys(UNITS), ", ")), 4)
  end
  return { field = given[1], title = given[2], unit = unit, show = UNITS[unit] }
end

local function check_columns(declaration)
  local columns = {}
  for i = 1, table.maxn(declaration) do
    local given = declaration[i]
    if given then columns[#columns + 1] = check_column(i, given) end
  end
  if #columns == 0 then error("view: there are no columns; give { field, title, unit } for each", 3) end
  return columns
end

-- ROWS in the view's order, those that have equal numbers in the order of their other columns; no more than its top.
local function arranged(self, rows)
  local list = {}
  for i, row in ipairs(rows) do list[i] = row end
  local by = self.by
  if by then
    table.sort(list, function(a, b)
      local x, y = a[by], b[by]
      if x ~= y and x ~= nil and y ~= nil then
        if type(x) == "string" then return order.less(x, y) end
        return order.less(y, x)
      end
      if (x == nil) ~= (y == nil) then return y == nil end
      for _, column in ipairs(self.columns) do
        local p, q = a[column.field], b[column.field]
        if p ~= q and p ~= nil and q ~= nil then return order.less(p, q) end
        if (p == nil) ~= (q == nil) then return q == nil end
      end
      return false
    end)
  end
  for i = #list, (self.top or 0) > 0 and self.top + 1 or math.huge, -1 do list[i] = nil end
  return list
end

-- The width of each column for CELLS, so that all fit into ROOM where that can be reached by cutting texts.
local function widths_of(columns, cells, room)
  local widths, total = {}, 2 * (#columns - 1)
  for c, column in ipairs(columns) do
    widths[c] = text.width(column.title)
    for _, line in ipairs(cells) do widths[c] = math.max(widths[c], text.width(line[c])) end
    total = total + widths[c]
  end
  while room and total > room do
    local widest
    for c, column in ipairs(columns) do
      if column.unit == "text" and widths[c] > NARROWEST and (not widest or widths[c] > widths[widest]) then
        widest = c
      end
    end
    if not widest then break end
    widths[widest], total = widths[widest] - 1, total - 1
  end
  return widths
end

local function line_of(columns, cells, widths, room)
  local parts = {}
  for c, column in ipairs(columns) do
    local cell = text.cut(cells[c], widths[c])
    local space = (" "):rep(widths[c] - text.width(cell))
    parts[c] = column.unit == "text" and cell .. space or space .. cell
  end
  local line = table.concat(parts, "  "):gsub("%s+$", "")
  return room and text.cut(line, room) or line
end

-- The table of ROWS in ROOM columns (nil: as wide as it is).
local function draw(self, rows, room)
  local columns, cells, titles = self.columns, {}, {}
  for c, column in ipairs(columns) do titles[c] = column.title end
  for r, row in ipairs(rows) do
    cells[r] = {}
    for c, column in ipairs(columns) do
      local value = row[column.field]
      cells[r][c] = value == nil and "" or column.show(value)
    end
  end
  local widths = widths_of(columns, cells, room)
  local lines = { line_of(columns, titles, widths, room) }
  for _, line in ipairs(cells) do lines[#lines + 1] = line_of(columns, line, widths, room) end
  return lines
end

local function check_rows(rows)
  if type(rows) ~= "table" then error("view: rows is a list of tables with the columns' fields", 3) end
end

-- The table of ROWS as text, the titles first, in WIDTH columns (nil: the terminal's, or as wide as it is). Raises what
-- is wrong with ROWS.
function methods:text(rows, width)
  check_rows(rows)
  if type(width or 0) ~= "number" then error("view: the width is a number, not a " .. type(width), 2) end
  return table.concat(draw(self, arranged(self, rows), width or (terminal.size())), "\n")
end

-- Prints it. Returns a list of the rows that stand there, in their order.
function methods:print(rows)
  check_rows(rows)
  local list = arranged(self, rows)
  io.stdout:write(table.concat(draw(self, list, (terminal.size())), "\n"), "\n")
  return list
end

-- Prints it under HEADING, a line. On a terminal it takes the place of what refresh printed before, and no more than
-- the screen's rows; elsewhere an empty line parts them.
function methods:refresh(rows, heading)
  check_rows(rows)
  if type(heading or "") ~= "string" then error("view: the heading is a text, not a " .. type(heading), 2) end
  local columns, height = terminal.size()
  local list = arranged(self, rows)
  local in_place = terminal.interactive() and height ~= nil
  if in_place then -- the heading, the titles, and the cursor's line
    for i = #list, math.max(1, height - (heading and 3 or 2)) + 1, -1 do list[i] = nil end
  end
  local lines = draw(self, list, columns)
  if heading then
    table.insert(lines, 1, columns and text.cut(text.escape(heading), columns) or text.escape(heading))
  end
  if self.printed then io.stdout:write(in_place and ("\27[%dA\27[J"):format(self.printed) or "\n") end
  io.stdout:write(table.concat(lines, "\n"), "\n")
  io.stdout:flush()
  self.printed = #lines
end

local metatable = { __index = methods }

-- A view with the columns of DECLARATION, and its `by` and `top`. Raises what is wrong with it.
function view.new(declaration)
  if type(declaration) ~= "table" then
    error("view: declare its columns in a table: { { \"field\", \"Title\", \"count\" }, … }", 2)
  end
  local columns, given = check_columns(declaration), option_table.read("view", option_table.named(declaration), OPTIONS)
  return setmetatable({ columns = columns, by = given.by, top = given.top, printed = false }, metatable)
end

return view
