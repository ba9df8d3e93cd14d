-- --cgroup: what runs in these cgroups, or below them, is traced. Handlers look up the id of their thread's there
-- (src/compile/lower/filter.c).
local core = require "uplua.core"
local hash = require "uplua.objects.hash"
local loop = require "uplua.base.loop"

local cgroup = {}

local MOST = 16384

-- Finds the cgroups that match PATTERN, now and later. Returns the map whose keys are their ids, and the level at which
-- they are.
function cgroup.begin(pattern)
  local found = core.cgroup.open(pattern)
  local map, known = hash.hash { max = MOST, key = "u64", value = "u64" }, {}
  local function update()
    local now = found:list()
    for id in pairs(known) do
      if not now[id] then map:delete(id) end
    end
    for id in pairs(now) do
      if not known[id] then map:set(id, 1) end
    end
    known = now
  end
  update()
  if not next(known) and pattern:find(",", 1, true) then
    error(("--cgroup %s: there is no such cgroup; it is one path, and a pattern means several, " ..
           "as in 'system.slice/*.service'"):format(pattern), 0)
  elseif not next(known) then
    loop.warn(("--cgroup %s: there is none yet: waiting for one"):format(pattern))
  end
  loop.watch(found:fd(), update)
  return map, found:level()
end

return cgroup
