-- Counts by stack as lists for reports: stacks that print equally, those of several processes that run one program, are
-- one row.
local order = require "uplua.objects.order"
local stack = require "uplua.stack.stack"
local text  = require "uplua.base.text"

local stacks = {}

-- The stack that KEY is, or has as one of its parts, and its other parts joined by ", " (nil: there are none).
local function parts_of(key)
  if stack.is(key) then return key end
  local found, words = nil, {}
  for i = 1, math.huge do
    local part = key[i]
    if part == nil then break end
    if stack.is(part) then found = part else words[#words + 1] = tostring(part) end
  end
  return found, words[1] and table.concat(words, ", ")
end

local function check_function(who, fn)
  if fn and type(fn) ~= "function" then
    error(("%s: the last argument is a function, not %s"):format(who, text.shown(fn)), 3)
  end
end

local function check_number(who, number)
  if type(number) ~= "number" then
    error(("%s: the second argument is a number of rows, not %s"):format(who, text.shown(number)), 3)
  end
end

-- The rows of SOURCE (a count, a sum, or a table: stack, or tuple with a stack, → number), the largest first, and their
-- sum. A row:
--   stack, number    and
--   label            LABEL(key), a text that goes with the stack; without LABEL the tuple's other parts
function stacks.rows(source, label)
  order.check("stacks.rows", source)
  check_function("stacks.rows", label)
  local rows, by_name, sum = {}, {}, 0
  local function add(key, number)
    local found, words = parts_of(key)
    if not found then
      error(("stacks.rows: a key is a stack, or a tuple with one, not %s"):format(text.shown(key)), 3)
    end
    local name = label and label(key) or words
    name = name and text.escape(name)
    local id = (name or "") .. "\n" .. found:key()
    local row = by_name[id]
    if not row then
      row = { stack = found, label = name, number = 0, id = id }
      by_name[id], rows[#rows + 1] = row, row
    end
    row.number, sum = row.number + tonumber(number), sum + tonumber(number)
  end
  for key, number in order.entries(source) do add(key, number) end
  table.sort(rows, function(a, b)
    if a.number ~= b.number then return a.number > b.number end
    return a.id < b.id
  end)
  return rows, sum
end

local function check_rows(who, rows)
  if type(rows) ~= "table" or rows[1] ~= nil and (type(rows[1]) ~= "table" or not rows[1].number) then
    error(who .. ": the first argument is rows, as stacks.rows returns them", 3)
  end
end

-- ROWS as a table, stack or { label, stack } → number, for files (uplua.stack_files).
function stacks.named(rows)
  check_rows("stacks.named", rows)
  local named = {}
  for _, row in ipairs(rows) do named[row.label and { row.label, row.stack } or row.stack] = row.number end
  return named
end

-- "213 stacks, of which the 20 most frequent are above": ROWS, of which so many have been SHOWN, the largest, which
-- RANK calls them.
function stacks.told(rows, shown, rank)
  check_rows("stacks.told", rows)
  check_number("stacks.told", shown)
  local many = text.plural(#rows, "stack")
  if shown == #rows then return many end
  if shown == 1 then return ("%s, of which the %s is above"):format(many, rank) end
  return ("%s, of which the %d %s are above"):format(many, shown, rank)
end

-- Prints the N largest of ROWS (0: all), the largest last, where the eye is when all is printed: the stack, the label
-- if there is one, and the line SHOW(row); without SHOW the number. Returns how many that were.
function stacks.print(rows, n, show)
  check_rows("stacks.print", rows)
  check_number("stacks.print", n)
  check_function("stacks.print", show)
  local shown = n == 0 and #rows or math.min(n, #rows)
  for i = shown, 1, -1 do
    local label = rows[i].label
    text.printf("%s\n%s%s\n\n", rows[i].stack, label and ("     %s\n"):format(label) or "",
                show and show(rows[i]) or text.thousands(rows[i].number))
  end
  return shown
end

return stacks
