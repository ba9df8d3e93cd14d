-- Folded stacks: a line for each stack, "main;serve;zmalloc 4096", as flame graph tools, speedscope and others read
-- them.
--
--   folded.write(path, source)   source as that of uplua.flame: a count, a sum, or a table of stacks or tuples with
--                                numbers
--   folded.text(source)          the same as text
--   folded.sums(source)          the same as a table, { ["main;serve;zmalloc"] = 4096, … }
--   folded.read(path)            such a table of a file, for instance to compare it with another run in a flame graph
--
-- Equal lines are one. In a tuple texts and numbers come first, then the stacks of programs, then the kernel's. A ";"
-- in a tuple's text is ","; a text that is the whole key is a line already, as read gives it.
local file   = require "uplua.file"
local record = require "uplua.objects.record"
local stack  = require "uplua.stack.stack"
local text   = require "uplua.text"

local folded = {}

local function name_of(label)
  local name = text.escape(tostring(label)):gsub(";", ",")
  return name
end

-- The texts, programs' stacks and kernel's stacks of KEY as one line.
local function line_of(key)
  if stack.is(key) then return text.escape(key:folded()) end
  local count = record.is(key) and #record.names(key) or type(key) == "table" and #key
  if not count then return text.escape(tostring(key)) end
  local labels, stacks, kernels = {}, {}, {}
  for i = 1, count do
    local part = key[i]
    if not stack.is(part) then
      labels[#labels + 1] = name_of(part)
    elseif #part > 0 or part:incomplete() then
      local list = part:pid() == 0 and kernels or stacks
      list[#list + 1] = text.escape(part:folded())
    end
  end
  for _, list in ipairs { stacks, kernels } do
    for _, line in ipairs(list) do labels[#labels + 1] = line end
  end
  return table.concat(labels, ";")
end

-- The lines of SOURCE with their sums.
function folded.sums(source)
  local sums = {}
  local function add(key, value)
    local line = line_of(key)
    sums[line] = (sums[line] or 0) + value
  end
  if type(source) == "table" and rawget(source, "kind") == nil then
    for key, value in pairs(source) do add(key, value) end
  else
    for key, value in source:pairs() do add(key, value) end
  end
  return sums
end

-- The same as text, sorted.
function folded.text(source)
  local lines = {}
  for line, sum in pairs(folded.sums(source)) do lines[#lines + 1] = ("%s %s\n"):format(line, text.integer(sum)) end
  table.sort(lines)
  return table.concat(lines)
end

-- Writes them to the file PATH. Raises why it cannot.
function folded.write(path, source)
  if type(path) ~= "string" then error("folded: the first argument is the file's path, a text", 2) end
  local written, why = file.write(path, folded.text(source))
  if not written then error("folded: cannot write " .. why, 2) end
end

-- The stacks of the file PATH with their numbers, equal ones added up. Raises why it cannot be read, with the line that
-- is wrong.
function folded.read(path)
  local file, why = io.open(path)
  if not file then error("folded: cannot read " .. why, 2) end
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
