-- Counts by stack as lists for reports: stacks that print equally, those of several processes that run one program, are
-- one row.
local callers   = require "uplua.stack.callers"
local format    = require "uplua.objects.format"
local frames    = require "uplua.stack.frame"
local order     = require "uplua.objects.order"
local scheduler = require "uplua.stack.scheduler"
local stack     = require "uplua.stack.stack"
local text      = require "uplua.base.text"

local stacks = {}

-- Of rows as data.
local COLUMNS = {
  { field = "number", title = "Number", unit = "number" }, { field = "label", title = "Label", unit = "text" },
  { field = "stack", title = "Stack", unit = "text" },
}

-- The stack that KEY is, or has as one of its parts, and its other parts joined by ", " (nil: there are none).
-- LABELLED: they are not asked for.
local function parts_of(key, labelled)
  if stack.is(key) then return key end
  local found, words = nil, nil
  for i = 1, math.huge do
    local part = key[i]
    if part == nil then break end
    if stack.is(part) then
      found = part
    elseif not labelled then
      words = (words and words .. ", " or "") .. text.plain(part)
    end
  end
  return found, words
end

-- ROWS with the largest number first, of equal ones by id, where they have one. There are many rows and few numbers.
local function largest_first(rows)
  local of_number, numbers, sorted = {}, {}, {}
  for _, row in ipairs(rows) do
    local list = of_number[row.number]
    if not list then
      list = {}
      of_number[row.number], numbers[#numbers + 1] = list, row.number
    end
    list[#list + 1] = row
  end
  table.sort(numbers, function(a, b) return a > b end)
  for _, number in ipairs(numbers) do
    local list = of_number[number]
    if list[1].id then table.sort(list, function(a, b) return a.id < b.id end) end
    for _, row in ipairs(list) do sorted[#sorted + 1] = row end
  end
  return sorted
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
-- APART true: stacks that print equally stay rows of their own, which saves the time to print each: for
-- stacks.functions and the others that go by functions.
function stacks.rows(source, label, apart)
  order.check("stacks.rows", source)
  check_function("stacks.rows", label)
  local rows, by_label, shown, sum = {}, {}, {}, 0 -- by_label: label → stack or its text → row
  for key, number in order.entries(source) do
    local found, words = parts_of(key, label)
    if not found then
      error(("stacks.rows: a key is a stack, or a tuple with one, not %s"):format(text.shown(key)), 2)
    end
    local name = label and label(key) or words
    if name and not shown[name] then shown[name] = text.escape(name) end
    name = name and shown[name] or nil
    local of_label = by_label[name or ""]
    if not of_label then
      of_label = {}
      by_label[name or ""] = of_label
    end
    local id = apart and found or found:key()
    local row = of_label[id]
    if not row then
      row = { stack = found, label = name, number = 0, id = not apart and (name or "") .. "\n" .. id or nil, keys = {} }
      of_label[id], rows[#rows + 1] = row, row
    end
    number = tonumber(number)
    row.number, sum = row.number + number, sum + number
    row.keys[#row.keys + 1] = key
  end
  return largest_first(rows), sum
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

-- T[key], a table that is made when it is first asked for.
local function table_in(t, key)
  local found = t[key]
  if not found then
    found = {}
    t[key] = found
  end
  return found
end

-- Whether FRAME, of a stack that waits, is what waits: no function of the kernel's scheduler.
function stacks.waits(frame) return not scheduler.has(frame) end

-- A function of the numbers of a stack's frames and their count that returns where its first function for which
-- INNERMOST is true stands: without one, or where INNERMOST is nil, at 1.
local function starting_at(innermost, known)
  local good = {}
  return function(numbers, count)
    if not innermost then return 1 end
    for k = 1, count do
      local n = numbers[k]
      if good[n] == nil then
        local list = known.index.lists[n]
        good[n] = innermost(list[#list]) and true or false
      end
      if good[n] then return k end
    end
    return 1
  end
end

-- By self, then by total, then by name.
local function sort_functions(list)
  table.sort(list, function(a, b)
    if a.self ~= b.self then return a.self > b.self end
    if a.total ~= b.total then return a.total > b.total end
    return a.name .. (a.at or "") .. (a.label or "") < b.name .. (b.at or "") .. (b.label or "")
  end)
  return list
end

-- Adds to ONE what ROW has in FIELDS.
local function add_fields(one, row, fields)
  for _, field in ipairs(fields) do one[field] = (one[field] or 0) + (row[field] or 0) end
end

-- ROWS by function, or by line of the source where BY is "line": a list of
--   label, name, module   as of rows; the function; the base name of its file
--   nameless              true: the function has no name in its file
--   at                    "shop.c:23", where BY is "line" and debug information tells
--   self, total           the numbers of the stacks whose innermost function it is, and of those that it is in
--   times                 the sum of the fields `times` of the former, where rows have it; so also of the FIELDS, a
--                         list of names
-- those with the largest self first. INNERMOST: a function of a frame, true for one of which `self` may be; what is
-- above the first one counts for nothing.
function stacks.functions(rows, by, innermost, fields)
  check_rows("stacks.functions", rows)
  check_function("stacks.functions", innermost)
  local list, numbers, known = {}, {}, {}
  local start = starting_at(innermost, known)
  local own, total, last = {}, {}, {} -- by the function's number: its sums, and the row that it was last in
  -- The number of what FRAME counts for in rows of LABEL.
  local function number_of(label, frame)
    local name, module = frames.function_name(frame), frame.module and frame.module:match "[^/]*$" or ""
    local at = by == "line" and frame.file and ("%s:%s"):format(frame.file:match "[^/]*$", frame.line or "?") or nil
    local id = table.concat({ label or "", name, module, at or "" }, "\n")
    local n = numbers[id]
    if not n then
      n = #list + 1
      list[n], own[n], total[n], last[n] = { label = label, name = name, module = module, at = at }, 0, 0, 0
      list[n].nameless = not frame.symbol and frame.module ~= nil or nil
      numbers[id] = n
    end
    return n
  end
  local first, rest = {}, {} -- label → the frame's number → that of the innermost function there; those of the others
  for i, row in ipairs(rows) do
    local label, number = row.label or "", row.number
    local first_of, rest_of = table_in(first, label), table_in(rest, label)
    local found, count, incomplete = stack.numbers(row.stack, known)
    if count == 0 then
      local n = number_of(row.label, { symbol = incomplete or "[no frames]" })
      own[n], total[n] = own[n] + number, total[n] + number
    end
    local from = start(found, count)
    for k = from, count do
      local frame = found[k]
      local n = first_of[frame]
      if not n then
        local functions, others = known.index.lists[frame], nil
        n = number_of(row.label, functions[1])
        for j = 2, #functions do
          others = others or {}
          others[j - 1] = number_of(row.label, functions[j])
        end
        first_of[frame], rest_of[frame] = n, others or false
      end
      if k == from then
        own[n] = own[n] + number
        if row.times then list[n].times = (list[n].times or 0) + row.times end
        if fields then add_fields(list[n], row, fields) end
      end
      if last[n] ~= i then total[n], last[n] = total[n] + number, i end
      local others = rest_of[frame]
      for j = 1, others and #others or 0 do
        n = others[j]
        if last[n] ~= i then total[n], last[n] = total[n] + number, i end
      end
    end
  end
  for n, one in ipairs(list) do one.self, one.total = own[n], total[n] end
  return sort_functions(list)
end

-- ROWS by the instruction at which they stand: a list as of stacks.functions, with
--   name                  "parse+0x23"
--   address               where the file has it, as nm prints it; nil of the kernel's and of code that no file has
--   code                  "mov (%rdi), %rax"; nil on aarch64, too
--   at                    "shop.c:23", where debug information tells
function stacks.instructions(rows, fields)
  check_rows("stacks.instructions", rows)
  local list, of_label, known = {}, {}, {}
  for _, row in ipairs(rows) do
    local found, count = stack.numbers(row.stack, known)
    if count > 0 then
      local of_frame = table_in(of_label, row.label or "")
      local one = of_frame[found[1]]
      if not one then
        local functions = known.index.lists[found[1]]
        local first, proper = functions[1], functions[#functions]
        local address, code = frames.instruction(functions.pid, functions.word)
        one = {
          label = row.label, name = frames.text(proper, {}), module = proper.module and frames.basename(proper.module),
          address = address and frames.hex(address), code = code, self = 0,
          at = first.file and ("%s:%s"):format(frames.basename(first.file), first.line or "?") or nil,
        }
        of_frame[found[1]], list[#list + 1] = one, one
      end
      one.self = one.self + row.number
      if type(fields) == "table" then add_fields(one, row, fields) end -- and not the sum that stacks.rows returns, too
    end
  end
  for _, one in ipairs(list) do one.total = one.self end
  return sort_functions(list)
end

-- Who calls the function NAME in ROWS: a tree, as a list of { name, number, depth, branch }: NAME itself, then its
-- callers, theirs below each, the most frequent first. A caller that is the only one has the depth of what it calls;
-- one of several begins a branch. Of a function that calls itself the outermost call counts. Empty where no stack has
-- it.
function stacks.callers(rows, name)
  check_rows("stacks.callers", rows)
  local tree, known = callers.new { "number" }, {}
  for _, row in ipairs(rows) do
    local names, found = {}, nil
    stack.each_function(row.stack, known, function(frame, place)
      names[place] = frames.function_name(frame)
      if names[place] == name then found = place end
    end)
    if found then tree:add({ unpack(names, found) }, row) end
  end
  return tree:lines()
end

-- The numbers of LINES, folded stacks, by function: name → { self, total }; and their sum. What stands at a line's
-- begin for a process, a thread or a CPU is no function.
local function functions_of_lines(lines)
  local functions, sum = {}, 0
  for line, number in pairs(lines) do
    local seen, last = {}, nil
    local bare = line:gsub("^[^;]- %(pid [^;)]*%);?", ""):gsub("^CPU %d+;", "")
    for name in bare:gmatch "[^;]+" do
      local one = functions[name] or { self = 0, total = 0 }
      functions[name], last = one, one
      if not seen[one] then one.total, seen[one] = one.total + number, true end
    end
    if last then last.self = last.self + number end
    sum = sum + number
  end
  return functions, sum
end

-- What differs by function between BEFORE and NOW, tables of folded lines with numbers (uplua.folded): a list of
--   name                                    the function
--   before, now, change                     its own share of the sums, in percent, and their difference
--   total_before, total_now, total_change   with what it calls
-- the largest difference of its own share first.
function stacks.changes(before, now)
  if type(before) ~= "table" or type(now) ~= "table" then
    error("stacks.changes: two tables of folded stacks with numbers are expected", 2)
  end
  local old, old_sum = functions_of_lines(before)
  local new, new_sum = functions_of_lines(now)
  local list, none = {}, { self = 0, total = 0 }
  local function add(name)
    local a, b = old[name] or none, new[name] or none
    local function share(number, sum) return sum > 0 and 100 * number / sum or 0 end
    local one = {
      name = name, before = share(a.self, old_sum), now = share(b.self, new_sum),
      total_before = share(a.total, old_sum), total_now = share(b.total, new_sum),
    }
    one.change, one.total_change = one.now - one.before, one.total_now - one.total_before
    list[#list + 1] = one
  end
  for name in pairs(new) do add(name) end
  for name in pairs(old) do
    if not new[name] then add(name) end
  end
  table.sort(list, function(a, b)
    local x, y = math.abs(a.change), math.abs(b.change)
    if x ~= y then return x > y end
    x, y = math.abs(a.total_change), math.abs(b.total_change)
    if x ~= y then return x > y end
    return a.name < b.name
  end)
  return list
end

local BEHIND = 5 -- stacks that stacks.behind shows

-- The most frequent stacks of TAKEN, counts or a snapshot by { key, stack }, for KEY, as one text: what a row of a
-- table that lives shows for Enter (uplua.view). NOUN: what one of them is called, "hit".
function stacks.behind(taken, key, noun)
  order.check("stacks.behind", taken)
  local counted, parts, wanted = {}, {}, tostring(key)
  for of, n in order.entries(taken) do
    if tostring(of[1]) == wanted then counted[of[2]] = n end
  end
  for found, n in order.sorted(counted, function(a, b) return b < a end) do
    if #parts < BEHIND then parts[#parts + 1] = ("%s\n%s"):format(text.plural(n, noun or "hit"), tostring(found)) end
  end
  return table.concat(parts, "\n\n")
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

-- Prints the N largest of ROWS (0: all), the largest first: the stack, the label if there is one, and the line
-- SHOW(row); without SHOW the number. As data a table of them. Returns how many that were. COLUMNS: of the data, what
-- else rows have (uplua.view), or how number and label are called.
function stacks.print(rows, n, show, columns)
  check_rows("stacks.print", rows)
  check_number("stacks.print", n)
  check_function("stacks.print", show)
  local shown = n == 0 and #rows or math.min(n, #rows)
  if format.is_data() then
    local all, places = { unpack(COLUMNS) }, {}
    for i, column in ipairs(all) do places[column.field] = i end
    for _, column in ipairs(columns or {}) do
      all[places[column[1]] or #all + 1] = { field = column[1], title = column[2], unit = column[3] }
    end
    format.table(all, { unpack(rows, 1, shown) })
    return shown
  end
  for i = 1, shown do
    local label = rows[i].label
    text.printf("%s\n%s%s\n\n", rows[i].stack, label and ("     %s\n"):format(label) or "",
                show and show(rows[i]) or text.thousands(rows[i].number))
  end
  return shown
end

return stacks
