-- --follow: the processes that the target's start are traced, too, and those that these start. The kernel keeps the
-- list itself: a process is on it before its first instruction runs. Handlers look up their process there
-- (src/compile/lower/filter.c).
local contract = require "uplua.contract"
local core     = require "uplua.core"
local hash     = require "uplua.objects.hash"
local loop     = require "uplua.base.loop"
local object   = require "uplua.objects.object"
local run      = require "uplua.base.run"

local target = core.target

local follow = {}

local MOST = 65536 -- processes at one time
local CLONE_THREAD = contract.CLONE_THREAD
local WITHIN = contract.PROCSTAT_BIRTH_WITHIN -- ns: by how much a process may have begun later than its birth says

local own = run.part(function()
  return { followed = nil } -- process → when it began; made with the first setup
end)

-- Whether BORN, a time in the list, stands for the process that began at BIRTH, as target.birth has it.
local function is_same(born, birth)
  local later = tonumber(born) - birth
  return later >= 0 and later < WITHIN
end

-- Declares, by the module RAW_TRACEPOINT, what keeps the list, with the target's processes on it.
-- Returns it.
function follow.begin(raw_tracepoint)
  local mine = own()
  mine.followed = mine.followed
    or object.advise(hash.hash { max = MOST, key = "i64", value = "u64" }, "trace fewer processes")
  local followed = mine.followed
  -- A stranger's process, too: one of the list may have had its number less than WITHIN ago, where somebody asks for
  -- numbers (/proc/sys/kernel/ns_last_pid).
  raw_tracepoint.all_processes("task_newtask", function(e)
    if bit.band(e.args.clone_flags, CLONE_THREAD) ~= 0 then return end
    if e.traced then
      followed[e.args.task.pid] = e.args.task.start_boottime
    else
      followed[e.args.task.pid] = nil
    end
  end)
  -- Not yet at its exit, where other handlers may still want to know it; by now its number may have been given away
  -- again. The kernel says it from whatever process runs by then, and of some no program is told (on virtual machines
  -- whose first process is their supervisor's, its threads): see follow.pids.
  raw_tracepoint.unfiltered("sched_process_free", function(e)
    local born = followed[e.args.p.pid]
    if born and e.args.p.start_boottime - born < WITHIN then followed[e.args.p.pid] = nil end
  end)
  local births = target.births()
  for i, pid in ipairs(target.pids()) do followed:set(pid, births[i]) end
  return followed
end

-- Whether the process PID that began at BIRTH is on the list; without that, any of this number.
function follow.has(pid, birth)
  local born = own().followed:get(pid)
  return born ~= nil and (not birth or is_same(born, birth))
end

-- Adds the descendants that the target has already. The kernel adds processes that they start from now on. Looking
-- again until there is nothing new finds those that they had started before.
function follow.add_descendants()
  if target.command() then return end
  local followed, added, new = own().followed, {}, nil
  repeat
    new = false
    local parents = target.parents()
    for pid, parent in pairs(parents) do
      local birth = followed:get(parent) and follow.has(parent, target.birth(parent)) and target.birth(pid)
      if birth and not follow.has(pid, birth) then
        followed:set(pid, birth)
        added[pid], new = true, true
      end
    end
    -- One that was gone before it was added: nobody would remove it.
    for pid in pairs(added) do
      if not parents[pid] then followed:delete(pid) end
    end
  until not new
end

-- The processes that are traced, and exist: { pid, … }. Those whose end the kernel did not tell leave its list.
function follow.pids()
  local followed, listed, pids = own().followed, {}, {}
  for pid, born in followed:pairs() do listed[tonumber(pid)] = born end
  for pid, born in pairs(listed) do
    local birth = target.birth(pid) -- asked after the list: what is missing here is gone
    if birth and is_same(born, birth) then
      pids[#pids + 1] = pid
    elseif followed:get(pid) == born then -- not that of a process that has got the number since
      followed:delete(pid)
    end
  end
  return pids
end

-- Calls ended() once none of them is left.
function follow.wait(ended)
  local left = 0
  for _, pid in ipairs(own().followed and follow.pids() or {}) do
    local fd = target.watch(pid)
    if fd then
      left = left + 1
      loop.watch(fd, function()
        loop.unwatch(fd)
        core.system.close(fd)
        left = left - 1
        if left == 0 then follow.wait(ended) end
      end)
    end
  end
  if left == 0 then ended() end
end

return follow
