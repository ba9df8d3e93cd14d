-- What e.vars has where gdb has stopped a program, for the first HITS hits of each stop.
--   uplua values.lua PROGRAM HITS FIRST LAST GDB RESULT -- COMMAND
-- GDB is what gdb.py has written, with an address, a hit, a name and a value a line; of its addresses those from the
-- FIRST to the LAST get probes. A name may be of a part, "list[0].size". Lines appended to RESULT: ADDRESS HIT NAME
-- VALUE; and "ADDRESS refused NAME REASON".
local up = require "uplua"
local core = require "uplua.core"

local program, hits, first, last = arg[1], tonumber(arg[2]), tonumber(arg[3]), tonumber(arg[4])
local MOST = 16 -- values of one probe
local result = assert(io.open(arg[6], "a"))
local ring, seen, probes = up.ring { size = "16M" }, up.hash { max = 65536 }, {}

-- "list[0].size" as Lua writes it, whatever the words: '["list"][0]["size"]'.
local function indices(path) return (path:gsub("%.?([%a_][%w_]*)", '["%1"]')) end

-- A handler that emits the values of PATHS, of the probe ID.
local function handler_of(id, paths)
  local fields = {}
  for i, path in ipairs(paths) do fields[i] = (", a%d = e.vars%s"):format(i, indices(path)) end
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

-- The stops: { address, paths = { path, … } }, …
local stops, by_address = {}, {}
for line in io.lines(arg[5]) do
  local address, path, value = line:match "^(%x+) %S+ (%S+) (%S+)"
  local stop = by_address[address]
  if not stop then
    stop = { address = address, paths = {} }
    by_address[address], stops[#stops + 1] = stop, stop
  end
  if value ~= "other" and value ~= "optimised" and not stop.paths[path] then
    stop.paths[path], stop.paths[#stop.paths + 1] = true, path
  end
end

local function refuse(stop, path, why)
  result:write(("%s refused %s %s\n"):format(stop.address, path, (why:gsub("\n", " "))))
end

local function probe(stop)
  local spec = ("%s:0x%s"):format(program, stop.address)
  local ok, sites = pcall(core.probe.resolve, spec, "exact", false)
  local variables, why = nil, sites
  if ok then variables, why = sites:variables() end
  if not variables then return refuse(stop, "*", tostring(why)) end
  local reasons, paths = {}, {}
  for _, variable in ipairs(variables) do
    local place = variable.place
    reasons[variable.name] = place == "parts" and "parts" or place == "nowhere" and variable.type or false
  end
  for _, path in ipairs(stop.paths) do
    local reason = reasons[path:match "^[%w_]+"]
    if reason == nil then reason = "there is no such variable here" end
    if reason == "parts" then
      local found, part_reason = sites:variables(path)
      reason = not found and part_reason or found[1].place == "parts" and "it is in parts"
    end
    if reason then refuse(stop, path, reason) else paths[#paths + 1] = path end
  end
  for from = 1, #paths, MOST do
    local part = { unpack(paths, from, math.min(from + MOST - 1, #paths)) }
    probes[#probes + 1] = { address = stop.address, paths = part }
    up.uprobe(spec, handler_of(#probes, part))
  end
end
for i = first, math.min(last, #stops) do probe(stops[i]) end

local function number(value)
  if value == nil then return "nil" end -- NULL; or it could not be read, which the ledger counts
  if type(value) == "boolean" then return value and "1" or "0" end
  return (type(value) == "cdata" and tostring(value) or ("%.0f"):format(value)):gsub("[UL]+$", "")
end

ring:each(function(record)
  local of = probes[tonumber(record.id)]
  for i, path in ipairs(of.paths) do
    result:write(("%s %d.%d %s %s\n"):format(of.address, tonumber(record.thread), tonumber(record.n), path,
      (number(record["a" .. i]))))
  end
end)
up.at_exit(function() result:close() end)
