-- What e.args has of the arguments of functions of a program, for the first HITS calls of each.
--   uplua values.lua PROGRAM HITS FIRST LAST FUNCTIONS RESULT -- COMMAND
-- FUNCTIONS has one address a line, of which those from FIRST to LAST get a probe. Lines appended to RESULT: ADDRESS
-- CALL NAME VALUE; and "ADDRESS refused NAME REASON". CALL is as gdb.py has it.
local up = require "uplua"
local core = require "uplua.core"

local program, hits, first, last = arg[1], tonumber(arg[2]), tonumber(arg[3]), tonumber(arg[4])
local result = assert(io.open(arg[6], "a"))
local ring, seen, functions = up.ring { size = "16M" }, up.hash { max = 65536 }, {}

-- A handler that emits the arguments of FUNCTION, the ID-th.
local function handler_of(id, parameters)
  local fields = {}
  for i, name in ipairs(parameters) do fields[i] = (", a%d = e.args[%q]"):format(i, name) end
  local source = ([[local ring, seen = ...
    return function(e)
      local thread = 1
      if e.tid ~= e.pid then thread = 2 end
      local n = (seen[{ %d, thread }] or 0) + 1
      seen[{ %d, thread }] = n
      if n <= %d then ring:emit { id = %d, thread = thread, n = n%s } end
    end]]):format(id, id, hits, id, table.concat(fields))
  return assert(loadstring(source))(ring, seen)
end

local line = 0
for address in io.lines(arg[5]) do
  line = line + 1
  if line >= first and line <= last then
    local spec = ("%s:0x%s"):format(program, address)
    local ok, sites = pcall(core.probe.resolve, spec, "exact", false)
    local parameters, why = nil, sites
    if ok then parameters, why = sites:parameters(false) end
    if not parameters then
      result:write(("%s refused * %s\n"):format(address, tostring(why)))
    else
      local named = {}
      for _, parameter in ipairs(parameters) do
        if parameter.place == "nowhere" then
          result:write(("%s refused %s %s\n"):format(address, parameter.name or "?", parameter.type))
        elseif parameter.name then
          named[#named + 1] = parameter.name
        end
      end
      if #named > 0 then
        functions[#functions + 1] = { address = address, names = named }
        up.uprobe(spec, handler_of(#functions, named))
      end
    end
  end
end

local function number(value)
  if value == nil then return "0" end -- NULL
  if type(value) == "boolean" then return value and "1" or "0" end
  return (type(value) == "cdata" and tostring(value) or ("%.0f"):format(value)):gsub("[UL]+$", "")
end

ring:each(function(record)
  local of = functions[tonumber(record.id)]
  for i, name in ipairs(of.names) do
    result:write(("%s %d.%d %s %s\n"):format(of.address, tonumber(record.thread), tonumber(record.n), name,
      (number(record["a" .. i]))))
  end
end)
up.at_exit(function() result:close() end)
