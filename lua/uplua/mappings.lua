-- In which mapping of a process an address lies: a file, "[heap]", "[stack]", "[anonymous]".
--
--   local mappings = require "uplua.mappings"
--   print(mappings.at(pid, address))
--
-- A process is looked at when somebody asks for an address in it that is in none of the mappings known so far. What it
-- has unmapped since is still known; nothing is known of one that had exited by then.
local proc = require "uplua.base.proc"
local run  = require "uplua.base.run"

local mappings = {}

local own = run.part(function() return {} end) -- PID → a list of { from, to, name }, the last that was read

local function read(pid)
  local list = {}
  for line in (proc.read("%d/maps", pid) or ""):gmatch "[^\n]+" do
    local from, to, name = line:match "^(%x+)%-(%x+) %S+ %S+ %S+ %S+%s*(.*)$"
    list[#list + 1] = { from = tonumber(from, 16), to = tonumber(to, 16), name = name ~= "" and name or "[anonymous]" }
  end
  return list
end

local function find(list, address)
  for _, map in ipairs(list or {}) do
    if address >= map.from and address < map.to then return map.name end
  end
end

-- at(pid, address): the name of the mapping; nil: it is not known.
function mappings.at(pid, address)
  pid, address = tonumber(pid), tonumber(address)
  if not pid or not address then
    error("mappings.at: a process and an address are expected, both numbers", 2)
  end
  local known = own()
  local name = find(known[pid], address)
  if name then return name end
  local list = read(pid)
  if #list > 0 then known[pid] = list end
  return (find(list, address))
end

return mappings
