-- Pictures of numbers for the terminal: histograms, bars, sparklines and heat maps. In characters of ASCII and 80
-- columns where standard output is a file or a pipe; on a terminal as wide as it is, with its characters and, unless
-- $NO_COLOR says otherwise, colours.
--
--   plot.histogram(h)                 what print(h) shows of a hist, lhist or hdr
--   plot.bars { { "read", 101 }, … }  a line for each: label, number, bar
--   plot.bar(0.5, 10)                 one of these bars alone, of 10 columns
--   plot.sparkline { 1, 5, 22, 13 }   "▁▂█▅", one character for each number
--   plot.heat(columns, labels, times) columns of numbers side by side, such as one second's histogram each: the darker,
--                                     the more; with the columns' times below, as far as there is room
-- All return text without an end of line.
local terminal = require "uplua.term.terminal"
local text     = require "uplua.base.text"

local plot = {}

local BAR = 48       -- with labels and counts of up to 12 digits, 80 columns
local WIDTH = 80     -- where no terminal says how wide it is
local GAP = 4        -- so many empty rows in between are left out
local MOST_ROWS = 64 -- more are drawn several to a row

local function width() return (terminal.size()) or WIDTH end

-- The room for bars beside labels and numbers of so many columns.
local function room_beside(names, numbers)
  local columns = terminal.size()
  if columns then return math.max(1, columns - names - numbers - 8) end
  return math.max(10, math.min(BAR, WIDTH - names - numbers - 8))
end

local EIGHTHS = { "▏", "▎", "▍", "▌", "▋", "▊", "▉" }

-- A bar of ROOM columns, filled to FRACTION (0 … 1); what is not zero shows. With a terminal's characters it is exact
-- to an eighth.
function plot.bar(fraction, room)
  if not terminal.unicode() then return text.bar(fraction, room) end
  local eighths = math.max(math.floor(fraction * room * 8 + 0.5), fraction > 0 and 1 or 0)
  local full, rest = math.floor(eighths / 8), eighths % 8
  return ("█"):rep(full) .. (rest > 0 and EIGHTHS[rest] or "") .. (" "):rep(room - full - (rest > 0 and 1 or 0))
end

-- Lines for ROWS of { label, number }; false is a row that says that some are left out.
local function draw(rows)
  local most, names, numbers = 0, 0, 0
  for _, row in ipairs(rows) do
    if row then
      most = math.max(most, tonumber(row[2]))
      names, numbers = math.max(names, text.width(row[1])), math.max(numbers, #text.thousands(row[2]))
    end
  end
  local room, lines, columns = room_beside(names, numbers), {}, terminal.size()
  for _, row in ipairs(rows) do
    if row then
      local number = text.thousands(row[2])
      lines[#lines + 1] = ("  %s%s  %s%s  |%s|"):format((" "):rep(names - text.width(row[1])), row[1],
        (" "):rep(numbers - #number), number, plot.bar(most > 0 and tonumber(row[2]) / most or 0, room))
    else
      lines[#lines + 1] = "  " .. (" "):rep(names - 1) .. "…"
    end
  end
  for i, line in ipairs(lines) do lines[i] = columns and text.cut(line, columns) or line end
  return lines
end

-- Adds PARTS to LINES, so many to a line as a terminal has room for.
local function add_parts(lines, parts)
  local columns, line = (terminal.size()) or math.huge, " "
  local function add() lines[#lines + 1] = columns < math.huge and text.cut(line, columns) or line end
  for i, part in ipairs(parts) do
    part = i < #parts and part .. "," or part
    if line ~= " " and text.width(line) + 1 + text.width(part) > columns then
      add()
      line = " "
    end
    line = line .. " " .. part
  end
  add()
end

-- Rows of { label, count } of histogram H, ascending; false where empty ones are left out. STRIDE: how many of its
-- scheme's rows are one.
local function rows_of(h, stride)
  local scheme, rows, at = h.scheme, {}, nil
  local function add(row, count) rows[#rows + 1] = { scheme.label(row, stride, h.unit), count } end
  for _, entry in ipairs(h.entries) do
    local row = scheme.row(entry[1], stride)
    if at == row then
      rows[#rows][2] = rows[#rows][2] + entry[2]
    else
      if at and row - at > GAP * stride then
        rows[#rows + 1] = false
      elseif at then
        for empty = at + stride, row - stride, stride do add(empty, 0) end
      end
      add(row, entry[2])
      at = row
    end
  end
  return rows
end

-- The histogram H, of a hist, lhist or hdr: a bar for each row of its buckets, an hdr's percentiles, and what is known
-- of all.
function plot.histogram(h)
  if type(h) == "table" and not rawget(h, "scheme") and h.get then h = select(2, pcall(h.get, h)) end
  if type(h) ~= "table" or not rawget(h, "scheme") then
    error("plot.histogram: a hist, lhist or hdr without keys is expected, or a value of one, such as h[key]", 2)
  end
  if h.count == 0 then return "(empty)" end
  local stride, rows = 1, rows_of(h, 1)
  while #rows > MOST_ROWS do
    stride = stride * 2
    rows = rows_of(h, stride)
  end
  local lines = draw(rows)
  if h.scheme.percentiles then
    local parts = {}
    for _, p in ipairs { 50, 90, 99, 99.9 } do
      local value, label = h:percentile(p)
      parts[#parts + 1] = ("%g%% %s"):format(p, label or "≤ " .. text.quantity(value, h.unit))
    end
    add_parts(lines, parts)
  end
  add_parts(lines, {
    "count " .. text.thousands(h.count), "avg " .. text.mean(h.avg, h.unit),
    "min " .. (h.min and text.quantity(h.min, h.unit) or "?"),
    "max " .. (h.max and text.quantity(h.max, h.unit) or "?"),
  })
  return table.concat(lines, "\n")
end

local function check_list(values, what, kind)
  if type(values) ~= "table" then error(("%s: the first argument is a list of %s"):format(what, kind), 3) end
end

-- A bar for each of ENTRIES, a list of { label, number } with no negative numbers, in its order.
function plot.bars(entries)
  check_list(entries, "plot.bars", "{ label, number }")
  if #entries == 0 then return "(empty)" end
  local rows = {}
  for i, entry in ipairs(entries) do
    rows[i] = { text.cut(text.escape(tostring(entry[1])), math.floor(width() / 2)), entry[2] }
  end
  return table.concat(draw(rows), "\n")
end

local RISING = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }
local RISING_ASCII = { ".", ":", "-", "=", "+", "*", "#", "@" }

-- The step of VALUE from 1 to 8, where MOST is the eighth; 0 for 0.
local function step_of(value, most)
  if value <= 0 then return 0 end
  return math.max(1, math.ceil(8 * value / most))
end

-- VALUES, numbers from 0 up, as one line of so many characters: 0 is a space, the largest the highest.
function plot.sparkline(values)
  check_list(values, "plot.sparkline", "numbers")
  local most, marks, characters = 0, terminal.unicode() and RISING or RISING_ASCII, {}
  for _, value in ipairs(values) do most = math.max(most, tonumber(value)) end
  for i, value in ipairs(values) do characters[i] = marks[step_of(tonumber(value), most)] or " " end
  return table.concat(characters)
end

-- xterm's colours from dark blue over red to yellow, for a map on a dark or light ground.
local HOT = { 17, 54, 90, 126, 162, 202, 214, 226 }

local function cell(step, colored)
  if step == 0 then return " " end
  return colored and ("\27[48;5;%dm \27[0m"):format(HOT[step]) or RISING_ASCII[step]
end

-- The line below a map: those of TIMES, texts for columns from FIRST on, for which there is room.
local function axis(times, first, padding)
  local line, free = "", 0
  for c = first, #times do
    local at = c - first
    if at >= free then
      local time = text.escape(tostring(times[c]))
      line = line .. (" "):rep(at - text.width(line)) .. time
      free = at + text.width(time) + 2
    end
  end
  return (padding .. "  " .. line):gsub("%s+$", "")
end

-- COLUMNS, a list of lists of numbers from 0 up, side by side: the first number of each is the lowest row. LABELS: the
-- rows' names, the lowest first; TIMES: the columns'. Columns on the left for which the screen has no room are left
-- out.
function plot.heat(columns, labels, times)
  check_list(columns, "plot.heat", "columns")
  check_list(labels, "plot.heat: the labels; not", "texts")
  check_list(times or {}, "plot.heat: the times; not", "texts")
  local most, names, colored = 0, 0, terminal.color()
  for _, column in ipairs(columns) do
    for _, value in ipairs(column) do most = math.max(most, tonumber(value)) end
  end
  for _, label in ipairs(labels) do names = math.max(names, text.width(label)) end
  local first, lines = math.max(1, #columns - math.max(1, width() - names - 3) + 1), {}
  for row = #labels, 1, -1 do
    local cells = {}
    for c = first, #columns do cells[#cells + 1] = cell(step_of(tonumber(columns[c][row] or 0), most), colored) end
    local padding = (" "):rep(names - text.width(labels[row]))
    lines[#lines + 1] = ("%s%s |%s"):format(padding, labels[row], table.concat(cells)):gsub("%s+$", "")
  end
  if times then lines[#lines + 1] = axis(times, first, (" "):rep(names)) end
  return table.concat(lines, "\n")
end

return plot
