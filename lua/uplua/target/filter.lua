-- The filter of traced processes and threads: the target and the options that narrow or widen it, for the handlers of
-- all setups.
local core    = require "uplua.core"
local options = require "uplua.options"
local run     = require "uplua.base.run"

local filter = {}

local own = run.part(function()
  return {
    followed = nil, cgroups = nil, level = nil, -- shared objects, made with the first setup
    attached = false,                           -- what fills them
  }
end)

-- Declares what has to be there before the first setup's probes: their attach comes first. RAW_TRACEPOINT is the module
-- of that name, where --follow is given.
function filter.begin(raw_tracepoint)
  local mine = own()
  if options.follow and not mine.attached then mine.followed = require "uplua.target.follow".begin(raw_tracepoint) end
  if options.cgroup and not mine.cgroups then
    mine.cgroups, mine.level = require "uplua.target.cgroup".begin(options.cgroup)
  end
end

-- To be called once the probes of a setup are attached.
function filter.attached()
  local mine = own()
  mine.attached = true
  if mine.followed then require "uplua.target.follow".add_descendants() end
end

-- True if processes may be traced that are none of the target's now: all, or those that it starts.
function filter.is_open() return options.follow or #core.target.pids() == 0 end

-- What was named to be traced: { name, whether it is there } each; empty where that is every process.
function filter.targets()
  local list, target = {}, core.target
  local threads, births = target.tids(), target.births()
  for i, id in ipairs(#threads > 0 and threads or target.pids()) do
    list[i] = { tostring(id), births[i] ~= nil and target.birth(id) == births[i] }
  end
  if own().cgroups then list[#list + 1] = { options.cgroup, own().cgroups:size() > 0 } end
  return list
end

-- True if process PID is traced, as far as that is a matter of processes.
function filter.traces(pid)
  local pids = core.target.pids()
  if #pids == 0 then return true end
  -- One that is gone may have been traced: it cannot be asked any more whether its number was given away again.
  local birth = core.target.birth(pid)
  if own().followed then return require "uplua.target.follow".has(pid, birth) end
  local births = #core.target.tids() == 0 and core.target.births() or {}
  for i, one in ipairs(pids) do
    if one == pid then return not birth or not births[i] or birth == births[i] end
  end
  return false
end

-- What the compiler needs to know of it (src/lua/compile_options.c).
function filter.describe()
  local mine, pids = own(), core.target.pids()
  return {
    pids = pids, tids = core.target.tids(), births = core.target.births(), comms = options.comms,
    cpus = options.cpus,
    followed = mine.followed and rawget(mine.followed, "id"),
    cgroups = mine.cgroups and rawget(mine.cgroups, "id"), cgroup_level = mine.level,
    except = #pids == 0 and not options.self and core.system.pid() or nil,
  }
end

-- Calls ended() when the last that is traced of the target has exited.
function filter.wait(ended)
  if options.follow then require "uplua.target.follow".wait(ended) else ended() end
end

return filter
