-- --follow: the processes that the target's start are traced, too, and those that these start. The kernel keeps the list itself: a process is
-- on it before its first instruction runs. Handlers look up their process there (src/compile/filter.c).
local core       = require "uplua.core"
local hash       = require "uplua.hash"
local loop       = require "uplua.loop"
local tracepoint = require "uplua.tracepoint"

local target = core.target

local follow = {}

local MOST = 65536 -- processes at one time
local CLONE_THREAD = 0x10000

local followed -- process → true; made with the first setup

-- Declares what keeps the list, with the target's processes on it. Returns it.
function follow.begin()
  followed = followed or hash.hash { max = MOST }
  tracepoint.unfiltered("task_newtask", function(e)
    if bit.band(e.args.clone_flags, CLONE_THREAD) ~= 0 then return end
    if followed[e.pid] then
      followed[e.args.task.pid] = true
    else
      followed[e.args.task.pid] = nil -- a number that is given away again, of a process whose end went unseen
    end
  end)
  -- Not yet at its exit, where other handlers may still want to know it. The kernel says it from whatever process runs by then, and of some no
  -- program is told (on virtual machines whose first process is their supervisor's, its threads): see follow.pids.
  tracepoint.unfiltered("sched_process_free", function(e) followed[e.args.p.pid] = nil end)
  for _, pid in ipairs(target.pids()) do followed:set(pid, true) end
  return followed
end

-- Adds the descendants that the target has already. What they start from now on the kernel adds; what they have started by then is found by
-- looking again until there is nothing new.
function follow.add_descendants()
  if target.command() then return end
  local added, new = {}, nil
  repeat
    new = false
    local parents = target.parents()
    for pid, parent in pairs(parents) do
      if followed:get(parent) and not followed:get(pid) then
        followed:set(pid, true)
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
  local listed, pids = {}, {}
  for pid in followed:pairs() do listed[#listed + 1] = pid end
  local existing = target.parents() -- read after the list: what is missing here is gone
  for _, pid in ipairs(listed) do
    if existing[pid] then pids[#pids + 1] = pid else followed:delete(pid) end
  end
  return pids
end

-- Calls ended() once none of them is left.
function follow.wait(ended)
  local left = 0
  for _, pid in ipairs(followed and follow.pids() or {}) do
    local fd = target.watch(pid)
    if fd then
      left = left + 1
      loop.watch(fd, function()
        loop.unwatch(fd)
        target.unwatch(fd)
        left = left - 1
        if left == 0 then follow.wait(ended) end
      end)
    end
  end
  if left == 0 then ended() end
end

return follow
