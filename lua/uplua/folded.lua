-- Folded stacks: a line for each stack, "main;serve;zmalloc 4096", as flame graph tools, speedscope and others read
-- them.
--
--   folded.write(path, source)   source as that of uplua.flame: a count, a sum, or a table of stacks or tuples with
--                                numbers
--   folded.text(source)          the same as text
--   folded.append(path, time, source)   adds the lines of an interval that began at TIME, in ns as up.now() has it, to
--                                a file's end: "12:34:56.000;main;serve 12"
--   folded.sums(source)          the same as a table, { ["main;serve;zmalloc"] = 4096, … }
--   folded.read(path)            such a table of a file, for instance to compare it with another run in a flame graph
--
-- Equal lines are one. In a tuple texts and numbers come first, then the stacks of programs, then the kernel's. A ";"
-- in a tuple's text is ","; a text that is the whole key is a line already, as read gives it.
local file  = require "uplua.file"
local order = require "uplua.objects.order"
local stack = require "uplua.stack.stack"
local text  = require "uplua.base.text"
local tree  = require "uplua.flame.tree"

local folded = {}

local function name_of(label) return (text.escape(text.plain(label)):gsub(";", ",")) end

-- The texts, programs' stacks and kernel's stacks of KEY as one line.
local function line_of(key)
  if stack.is(key) then return text.escape(key:folded()) end
  local labels, stacks = tree.parts_of(key)
  if not labels then return text.escape(text.plain(key)) end
  local line = {}
  for i, label in ipairs(labels) do line[i] = name_of(label) end
  for _, part in ipairs(stacks) do
    if #part > 0 or part:incomplete() then line[#line + 1] = text.escape(part:folded()) end
  end
  return table.concat(line, ";")
end

-- The lines of SOURCE with their sums.
function folded.sums(source)
  order.check("folded.sums", source)
  local sums = {}
  local function add(key, value)
    local line = line_of(key)
    sums[line] = (sums[line] or 0) + value
  end
  for key, value in order.entries(source) do add(key, value) end
  return sums
end

-- The same as text, sorted.
function folded.text(source)
  order.check("folded.text", source)
  local lines = {}
  for line, sum in pairs(folded.sums(source)) do lines[#lines + 1] = ("%s %s\n"):format(line, text.integer(sum)) end
  table.sort(lines)
  return table.concat(lines)
end

local function check_path(path)
  if type(path) ~= "string" then error("folded: the first argument is the file's path, a text", 3) end
end

-- Writes them to the file PATH. Raises why it cannot.
function folded.write(path, source)
  check_path(path)
  order.check("folded.write", source)
  local written, why = file.write(path, folded.text(source))
  if not written then error("folded: cannot write " .. why, 2) end
end

-- Adds the lines to the end of the file PATH, each behind the wall clock's time of TIME, in ns: "12:34:56.000;main 4".
-- Raises why it cannot.
function folded.append(path, time, source)
  check_path(path)
  if type(time) ~= "number" and type(time) ~= "cdata" then
    error("folded.append: the second argument is a time, as up.now() gives it", 2)
  end
  order.check("folded.append", source)
  local clock, lines = text.clock(time):sub(1, #"12:34:56.000"), {}
  for line, sum in pairs(folded.sums(source)) do
    lines[#lines + 1] = ("%s;%s %s\n"):format(clock, line, text.integer(sum))
  end
  table.sort(lines)
  local out, why = io.open(path, "a")
  local written = out and out:write(table.concat(lines))
  local closed, late = out and out:close()
  if not (written and closed) then error("folded: cannot write " .. (why or path .. ": " .. tostring(late)), 2) end
end

-- The stacks of the file PATH with their numbers, equal ones added up; nil and why it cannot be read. Raises which line
-- is none of a stack.
function folded.read(path)
  check_path(path)
  local file, why = io.open(path)
  if not file then return nil, "cannot read " .. why end
  local sums, at = {}, 0
  for line in file:lines() do
    at = at + 1
    local names, number = line:match "^(.-)%s+(%-?%d+%.?%d*)%s*$"
    if names then
      sums[names] = (sums[names] or 0) + tonumber(number)
    elseif line:find "%S" then
      file:close()
      error(("folded: %s:%d: no number ends the line"):format(path, at), 2)
    end
  end
  file:close()
  return sums
end

return folded
