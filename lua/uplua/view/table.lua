-- The rows of a view in their order, and the lines that they are drawn as.
local order = require "uplua.objects.order"
local text  = require "uplua.base.text"

local tables = {}

local NARROWEST = 8 -- columns to which texts are cut before lines are
local SELECT    = 4 -- where this many times the wanted rows are there, the first are picked instead of sorting all

-- A function of two rows: whether A comes before B, by the field BY, the largest number and the first text first, or
-- the other way round (REVERSED). Those that are equal there come in the order of their other COLUMNS.
local function before(columns, by, reversed)
  return function(a, b)
    local x, y = a[by], b[by]
    if x ~= y and x ~= nil and y ~= nil then
      if (type(x) == "string") ~= reversed then return order.less(x, y) end
      return order.less(y, x)
    end
    if (x == nil) ~= (y == nil) then return y == nil end
    for i = 1, #columns do
      local field = columns[i].field
      local p, q = a[field], b[field]
      if p ~= q and p ~= nil and q ~= nil then return order.less(p, q) end
      if (p == nil) ~= (q == nil) then return q == nil end
    end
    return false
  end
end

-- The N rows of ROWS that come first, in their order: a heap of N holds the best of those seen so far, the last one on
-- top.
local function first(rows, n, less)
  local heap = {}
  local function sink(i)
    local row = heap[i]
    while 2 * i <= #heap do
      local child = 2 * i
      if child < #heap and less(heap[child], heap[child + 1]) then child = child + 1 end
      if not less(row, heap[child]) then break end
      heap[i], i = heap[child], child
    end
    heap[i] = row
  end
  for i = 1, n do heap[i] = rows[i] end
  for i = math.floor(n / 2), 1, -1 do sink(i) end
  for i = n + 1, #rows do
    if less(rows[i], heap[1]) then
      heap[1] = rows[i]
      sink(1)
    end
  end
  table.sort(heap, less)
  return heap
end

-- ROWS by their field BY (nil: as they are), REVERSED or not; TOP of them (nil or 0: all). A list of its own.
function tables.arranged(columns, rows, by, top, reversed)
  if by and top and top > 0 and #rows > SELECT * top then
    return first(rows, top, before(columns, by, reversed or false))
  end
  local list = {}
  for i = 1, #rows do list[i] = rows[i] end
  if by then table.sort(list, before(columns, by, reversed or false)) end
  for i = #list, top and top > 0 and top + 1 or math.huge, -1 do list[i] = nil end
  return list
end

-- The width of each column for TITLES and CELLS, so that all fit into ROOM where that can be reached by cutting texts.
local function widths_of(columns, titles, cells, room)
  local widths, total = {}, 2 * (#columns - 1)
  for c = 1, #columns do
    widths[c] = text.width(titles[c])
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
    parts[c] = column.to_the_left and cell .. space or space .. cell
  end
  local line = table.concat(parts, "  "):gsub("%s+$", "")
  return room and text.cut(line, room) or line
end

-- The cell of ROW in COLUMN, as text.
function tables.cell(column, row)
  local value = row[column.field]
  return value == nil and "" or column.show(value)
end

-- The lines of ROWS in ROOM columns (nil: as wide as they are), the titles first. MARK: field → what follows its title.
function tables.draw(columns, rows, room, mark)
  local cells, titles = {}, {}
  for c, column in ipairs(columns) do titles[c] = column.title .. (mark and mark[column.field] or "") end
  for r, row in ipairs(rows) do
    cells[r] = {}
    for c, column in ipairs(columns) do cells[r][c] = tables.cell(column, row) end
  end
  local widths = widths_of(columns, titles, cells, room)
  local lines = { line_of(columns, titles, widths, room) }
  for _, line in ipairs(cells) do lines[#lines + 1] = line_of(columns, line, widths, room) end
  return lines
end

return tables
