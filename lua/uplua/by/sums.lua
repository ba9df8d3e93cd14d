-- Columns of sums: what --sum adds up by the key under which hits are counted.
local capture = require "uplua.compile.capture"
local named   = require "uplua.by.named"
local store   = require "uplua.objects.store"

local Sums = {}
Sums.__index = Sums

-- Adds to KEPT what TAKEN has for keys that are not among those FILLED: the hits of these are counted after the take.
local function keep(kept, taken, filled)
  for key, value in taken:pairs() do
    local id = store.canonical(key)
    if not filled[id] then kept[id] = (kept[id] or 0) + value end
  end
end

-- take(): has the sums since the last take, each by itself, for fill. Returns itself. Handlers add to sums first and
-- count the hit then, and so hits are taken first: what is taken of them has been added to the sums.
function Sums:take()
  for i, sum in ipairs(self.summed) do
    if self.taken[i] then keep(self.kept[i], self.taken[i], self.filled) end
    self.taken[i] = sum:take()
  end
  self.filled = {}
  return self
end

-- clear(): a take thrown away.
function Sums:clear()
  for i, sum in ipairs(self.summed) do
    sum:clear()
    self.taken[i], self.kept[i] = nil, {}
  end
end

-- fill(row, key): puts the sums of KEY into ROW, as they were at the last take. Returns the row.
function Sums:fill(row, key)
  if type(row) ~= "table" then error("sums:fill: the first argument is a row, a table", 2) end
  if not self.columns[1] then return row end
  local id = store.canonical(key)
  self.filled[id] = true
  for i, column in ipairs(self.columns) do
    row[column[1]] = self.taken[i]:get(key) + (self.kept[i][id] or 0)
    self.kept[i][id] = nil
  end
  return row
end

-- A function for handlers, of the event and its key, that adds what FUNCTIONS return to SUMMED.
local function adding(functions, summed)
  local names, lines, values = {}, {}, {}
  for i = 1, #functions do
    names[2 * i - 1], names[2 * i] = "sum" .. i, "f" .. i
    values[2 * i - 1], values[2 * i] = summed[i], functions[i]
    lines[i] = ("sum%d[key]:add(f%d(e))"):format(i, i)
  end
  local source = ("%s return function(e, key) %s end")
    :format(#names > 0 and ("local %s = ..."):format(table.concat(names, ", ")) or "", table.concat(lines, " "))
  return capture.inlined(assert(loadstring(source, "=by"))(unpack(values)))
end

-- Two functions for handlers: the values of FUNCTIONS at an event, and what adds such values to SUMMED under a key.
local function taking(functions, summed)
  local names, calls, lines, given = {}, {}, {}, {}
  for i = 1, #functions do
    names[2 * i - 1], names[2 * i] = "sum" .. i, "f" .. i
    given[2 * i - 1], given[2 * i] = summed[i], functions[i]
    calls[i] = ("f%d(e)"):format(i)
    lines[i] = ("sum%d[key]:add(%s)"):format(i, #functions == 1 and "values" or ("values[%d]"):format(i))
  end
  local values = #calls == 0 and "0" or #calls == 1 and calls[1] or "{ " .. table.concat(calls, ", ") .. " }"
  local source = ("%s return function(e) return %s end, function(values, key) %s end")
    :format(#names > 0 and ("local %s = ..."):format(table.concat(names, ", ")) or "", values, table.concat(lines, " "))
  local of, put = assert(loadstring(source, "=by"))(unpack(given))
  return capture.inlined(of), capture.inlined(put)
end

local sums = {}

-- The sums of the expressions LIST (nil: none), as by.sums returns them.
function sums.new(list, at_return)
  local up, functions, summed, columns, kept = require "uplua", {}, {}, {}, {}
  for i, one in ipairs(named.list(list or {}, "sum")) do
    functions[i] = up.expression(one.source, { name = "--sum", kind = "number", at_return = at_return })
    summed[i], kept[i] = up.sum(), {}
    columns[i] = { one.field, one.name, one.unit or "count", option = "--sum" }
  end
  local values, put = taking(functions, summed)
  return setmetatable({ add = adding(functions, summed), values = values, put = put, columns = columns, summed = summed,
                        taken = {}, kept = kept, filled = {} }, Sums)
end

return sums
