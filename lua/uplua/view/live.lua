-- Views that live: on a terminal of its own a run shows them on the second screen, repainted in place, and heeds keys:
-- another order, a filter, what is behind a row, a pause, the end. When the run ends, the first screen is back, with
-- what was printed meanwhile and the last table.
local core     = require "uplua.core"
local system   = core.system
local failure  = require "uplua.base.failure"
local keys     = require "uplua.view.keys"
local loop     = require "uplua.base.loop"
local run      = require "uplua.base.run"
local tables   = require "uplua.view.table"
local terminal = require "uplua.term.terminal"
local text     = require "uplua.base.text"

local live = {}

local HELP = "order  %s row  Enter open  r reverse  / filter  p pause  q end"
local STEP = 10 -- rows, of the keys for pages

local own = run.part(function()
  return {
    open = false,    -- whether the second screen is shown
    keys = nil,      -- readable when one has been pressed
    resizes = nil,   -- readable when the terminal has another size; nil: nobody says so
    refused = false, -- whether it cannot be
    shown = {},      -- views in the order in which they came, each { view, rows, heading, by, reversed, top row }
    at = 1,          -- the one to which keys belong
    row = nil,       -- the chosen row's identity; nil: none is chosen
    filter = "",     -- what is shown contains it
    typing = nil,    -- the filter while it is typed
    paused = false,
    behind = nil,    -- the row of which all is shown
    scroll = 0,      -- the first line of that
  }
end)

-- Rows of one table and of the next one belong together where their texts are equal.
local function identity(columns, row)
  local parts = {}
  for _, column in ipairs(columns) do
    if column.unit == "text" then parts[#parts + 1] = tables.cell(column, row) end
  end
  return table.concat(parts, "\0")
end

-- ROWS of which a text contains the filter; small letters in it stand for large ones, too.
local function filtered(one, filter)
  if filter == "" then return one.rows end
  local exact, kept = filter:find "%u" ~= nil, {}
  for _, row in ipairs(one.rows) do
    for _, column in ipairs(one.view.columns) do
      local cell = column.unit == "text" and tables.cell(column, row)
      if cell and (exact and cell or cell:lower()):find(filter, 1, true) then
        kept[#kept + 1] = row
        break
      end
    end
  end
  return kept
end

local function help()
  if terminal.unicode() then return "←→ " .. HELP:format "↑↓" end
  return "<> " .. HELP:format "up/down"
end

local function mark_of(one)
  if not one.by then return nil end
  local down, up = "v", "^"
  if terminal.unicode() then down, up = "▾", "▴" end
  return { [one.by] = one.reversed and up or down }
end

-- The table of ONE on COUNT lines of WIDTH columns, its heading above.
local function table_lines(one, count, width)
  local mine, columns = own(), one.view.columns
  local rows = filtered(one, mine.typing or mine.filter)
  local needed, top = one.first + count + STEP, one.view.top or 0 -- as far as a key leads
  local list = tables.arranged(columns, rows, one.by, top > 0 and math.min(top, needed) or needed, one.reversed)
  one.list = list
  local notes = {}
  if #rows < #one.rows then notes[1] = ("%d of %d rows"):format(#rows, #one.rows) end
  if mine.paused then notes[#notes + 1] = "paused" end
  local heading = text.escape(one.heading or "") .. (#notes > 0 and "  " or "") .. table.concat(notes, ", ")
  local room = math.max(count - 2, 1)
  local chosen
  for i, row in ipairs(list) do
    if mine.row and mine.shown[mine.at] == one and identity(columns, row) == mine.row then chosen = i end
  end
  if chosen then
    one.first = math.min(one.first, chosen)
    one.first = math.max(one.first, chosen - room + 1)
  end
  one.first = math.max(math.min(one.first, #list - room + 1), 1)
  local seen = {}
  for i = one.first, math.min(#list, one.first + room - 1) do seen[#seen + 1] = list[i] end
  local lines = tables.draw(columns, seen, width, mark_of(one))
  chosen = chosen and chosen - one.first + 2
  if chosen and lines[chosen] then
    local line = lines[chosen]
    lines[chosen] = "\27[7m" .. line .. (" "):rep(width - text.width(line)) .. "\27[0m"
  end
  table.insert(lines, 1, text.cut(heading, width))
  return lines
end

-- All that is known of the chosen row: its cells, uncut, and its fields `behind` and `stack`.
local function row_lines(one, row, width)
  local lines = {}
  for _, column in ipairs(one.view.columns) do
    if column.unit ~= "bar" and row[column.field] ~= nil then
      lines[#lines + 1] = ("%s: %s"):format(column.title, tables.cell(column, row))
    end
  end
  for _, field in ipairs { "behind", "stack" } do
    local value = row[field]
    if type(value) == "function" then value = value(row) end
    if value ~= nil then
      lines[#lines + 1] = ""
      for line in (tostring(value) .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = line:gsub("[%z\1-\31\127]", " ") end
    end
  end
  for i, line in ipairs(lines) do lines[i] = text.cut(line, width) end
  return lines
end

-- The row whose identity is KEY; nil: it is not there any more.
local function row_of(one, key)
  for _, row in ipairs(one.rows) do
    if identity(one.view.columns, row) == key then return row end
  end
end

local function behind_lines(height, width)
  local mine = own()
  local one = mine.shown[mine.at]
  local row = row_of(one, mine.row)
  if row then mine.behind = row end -- one that is gone stays as it was
  local lines = row_lines(one, mine.behind, width)
  mine.scroll = math.max(0, math.min(mine.scroll, #lines - (height - 1)))
  local seen = {}
  for i = mine.scroll + 1, math.min(#lines, mine.scroll + height - 1) do seen[#seen + 1] = lines[i] end
  return seen, row and "Escape: back" or "Escape: back   (the row is not there any more)"
end

-- Draws what there is on the whole screen.
local function draw()
  local mine, lines, foot = own(), nil, nil
  local width, height = terminal.size()
  width, height = width or 80, math.max(height or 24, 4)
  if mine.behind then
    lines, foot = behind_lines(height, width)
  else
    lines, foot = {}, mine.typing and "/" .. text.escape(mine.typing) .. "_" or help()
    local room = math.floor((height - 1) / #mine.shown)
    for _, one in ipairs(mine.shown) do
      for _, line in ipairs(table_lines(one, room, width)) do lines[#lines + 1] = line end
    end
    if mine.filter ~= "" and not mine.typing then foot = ("/%s   "):format(text.escape(mine.filter)) .. foot end
  end
  while #lines < height - 1 do lines[#lines + 1] = "" end
  lines[height] = text.cut(foot, width)
  core.screen.draw(table.concat(lines, "\n", 1, height))
end

-- Another column decides over the order of the view: the STEPth after the one that does.
local function order_by(step)
  local mine = own()
  local one, fields, at = mine.shown[mine.at], {}, 0
  for _, column in ipairs(one.view.columns) do
    if column.unit ~= "bar" then fields[#fields + 1] = column.field end
    if column.field == one.by then at = #fields end
  end
  one.by, one.reversed = fields[(at + step - 1) % #fields + 1], false
end

local function choose(step)
  local mine = own()
  local one = mine.shown[mine.at]
  local list, columns, at = one.list or {}, one.view.columns, nil
  for i, row in ipairs(list) do
    if identity(columns, row) == mine.row then at = i end
  end
  at = at and at + step or one.first
  if at > #list and mine.shown[mine.at + 1] then
    mine.at, at = mine.at + 1, 1
  elseif at < 1 and mine.at > 1 then
    mine.at = mine.at - 1
    at = #(mine.shown[mine.at].list or {})
  end
  one = mine.shown[mine.at]
  list = one.list or {}
  local row = list[math.max(1, math.min(at, #list))]
  mine.row = row and identity(one.view.columns, row)
end

-- The keys where a row is shown, where a filter is typed, and else: key → what it does.
local BEHIND = {
  escape = function() own().behind = nil end,
  up = function() own().scroll = own().scroll - 1 end,
  down = function() own().scroll = own().scroll + 1 end,
  ["page up"] = function() own().scroll = own().scroll - STEP end,
  ["page down"] = function() own().scroll = own().scroll + STEP end,
  q = function() own().behind = nil end,
}
BEHIND.enter = BEHIND.escape

local TYPING = {
  enter = function() own().filter, own().typing = own().typing, nil end,
  escape = function() own().typing = nil end,
  backspace = function() own().typing = own().typing:gsub("[%z\1-\127\194-\244][\128-\191]*$", "") end,
}

local KEYS = {
  q = function() loop.exit() end,
  p = function()
    local mine = own()
    mine.paused = not mine.paused
    for _, one in ipairs(mine.shown) do
      if not mine.paused and one.next then one.rows, one.heading, one.next = one.next.rows, one.next.heading, nil end
    end
  end,
  r = function()
    local one = own().shown[own().at]
    one.reversed = not one.reversed
  end,
  ["/"] = function() own().typing = own().filter end,
  escape = function() own().filter, own().row = "", nil end,
  left = function() order_by(-1) end,
  right = function() order_by(1) end,
  up = function() choose(-1) end,
  down = function() choose(1) end,
  ["page up"] = function() choose(-STEP) end,
  ["page down"] = function() choose(STEP) end,
  enter = function()
    local mine = own()
    if not mine.row then choose(0) end
    mine.behind, mine.scroll = mine.row and row_of(mine.shown[mine.at], mine.row), 0
  end,
}
KEYS["<"], KEYS[">"], KEYS[" "] = KEYS.left, KEYS.right, KEYS.p

local function on_keys()
  local mine, bytes = own(), core.screen.typed()
  if not bytes then return loop.stop "signal" end -- the terminal is gone
  for _, key in ipairs(keys.of(bytes)) do
    local action = (mine.behind and BEHIND or mine.typing and TYPING or KEYS)[key]
    if action then
      action()
    elseif mine.typing and (#key == 1 or key:byte() >= 194) then
      mine.typing = mine.typing .. key
    end
  end
  if not loop.stopping() then draw() end
end

-- Back to the first screen, for good. What was shown last is printed there, all of it.
local function leave()
  local mine = own()
  if not mine.open then return end
  mine.open, mine.refused = false, true
  loop.unwatch(mine.keys)
  if mine.resizes then loop.unwatch(mine.resizes) end
  core.screen.close()
  loop.hook { flush = false, warn = false, failed = false }
  for _, one in ipairs(mine.shown) do
    local last = one.next or one
    one.view.by, one.view.reversed = one.by, one.reversed
    one.view:refresh(last.rows, last.heading)
  end
end

-- What has been printed goes to the first screen, and what fn(...) prints.
local function show_printed(fn, ...)
  core.screen.first()
  if fn then fn(...) end
  core.screen.second()
  draw()
end

-- Whether a command that was started has the terminal, too, by one of its standard descriptors: what it prints would
-- stand in the table, and what is typed might go to it. One that has been redirected leaves the terminal alone.
local function is_shared()
  local pid = core.target.command() and core.target.pids()[1]
  if not pid then return false end
  local mine = system.real_path "/proc/self/fd/1"
  for fd = 0, 2 do
    local path = system.real_path(("/proc/%d/fd/%d"):format(pid, fd))
    if not path or path == mine then return true end
  end
  return false
end

local function on_resize()
  core.screen.resized()
  if not loop.stopping() then draw() end
end

local function enter()
  local mine = own()
  local possible = loop.is_running() and not loop.stopping() and not loop.is_hooked "flush" and not is_shared()
  local fd, resizes
  if possible then fd, resizes = core.screen.open() end
  if not fd then
    mine.refused = true
    return false
  end
  mine.open, mine.keys = true, fd
  loop.watch(fd, on_keys)
  if resizes >= 0 then
    mine.resizes = resizes
    loop.watch(resizes, on_resize)
  end
  loop.at_stop(leave)
  loop.hook {
    flush = function() if core.screen.pending() then show_printed() end end,
    warn = function(message) show_printed(failure.report, message) end,
    failed = function(message)
      leave()
      loop.failed(message)
    end,
  }
  return true
end

-- Shows ROWS of VIEW under HEADING. False where there is no screen for that: standard output or input is no terminal,
-- a command that was started has it, the prompt does, or the run is not going on.
function live.show(view, rows, heading)
  local mine = own()
  if mine.refused or not mine.open and not enter() then return false end
  local one
  for _, known in ipairs(mine.shown) do
    if known.view == view then one = known end
  end
  if not one then
    one = { view = view, by = view.by, reversed = false, first = 1, rows = rows, heading = heading }
    mine.shown[#mine.shown + 1] = one
  end
  if mine.paused then
    one.next = { rows = rows, heading = heading }
  else
    one.rows, one.heading = rows, heading
    draw()
  end
  return true
end

-- Whether views are on the second screen.
function live.is_open() return own().open end

return live
