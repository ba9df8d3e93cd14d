-- The first thread of a process, its leader. To that the kernel binds a link which sees one process's hits. Another
-- thread that executes a program takes the leader's number and its place, and what is bound to the old one sees nothing
-- from then on (src/probe/probe.h): so it is bound anew. A command stands still meanwhile, and nothing of it is missed;
-- a process that is traced by its number goes on, since whoever has started it would be told that it was stopped.
local capture = require "uplua.compile.capture"
local core    = require "uplua.core"
local loop    = require "uplua.base.loop"
local object  = require "uplua.objects.object"
local ring    = require "uplua.objects.ring"
local run     = require "uplua.base.run"
local text    = require "uplua.base.text"

local leader = {}

local SIGCONT = 18

local own = run.part(function()
  return {
    changes = nil,  -- a ring: { pid, time } of each leader that another thread has taken the place of
    untold = false, -- the kernel cannot be asked for that
    blind = {},     -- { pid, ns until it was bound anew; nil: it was not }, for each that has gone on
  }
end)

-- Binds anew what the leader had that CHANGE tells of.
local function follow(change)
  local pid, mine = tonumber(change.pid), own()
  local ok, any = pcall(require "uplua.probe.attach".renew, pid)
  local ns = math.max(core.loop.now() * 1e9 - tonumber(change.time), 0)
  if core.target.command() then core.target.signal(SIGCONT) end
  local is_gone = not core.target.birth(pid)
  if not ok and not is_gone then
    loop.warn(("process %d executes a program by a thread other than its first: functions are not probed there: %s")
      :format(pid, any))
  end
  if not ok then
    mine.blind[#mine.blind + 1] = { pid }
  elseif any and not core.target.command() then
    mine.blind[#mine.blind + 1] = { pid, ns }
  end
end

-- True where one of PROBES, of uplua.probe.handler, has a link that is bound to a leader.
local function is_bound(probes)
  if not core.probe.filters "entry" then return false end
  for _, probe in ipairs(probes) do
    if probe.sites and not probe.waits then return true end
  end
  return false
end

-- Declares what tells of leaders that another thread has taken the place of, once PROBES, which are about to be
-- attached, need that.
function leader.begin(probes)
  local mine = own()
  local there = mine.untold or mine.changes and object.state(mine.changes).ring
  if there or not is_bound(probes) then return end
  local changes = mine.changes
  if not changes then
    changes = object.advise(ring.ring { size = "4K", order = false }, "trace fewer processes")
    mine.changes = changes
    changes:each(follow)
    loop.at_failure(function() changes:drain() end)
  end
  local is_command = core.target.command() ~= nil
  local raw_tracepoint = require "uplua.probe.providers.raw_tracepoint" -- here: it needs uplua.probe.declare
  local ok, why = pcall(raw_tracepoint.of_processes, "sched_process_exec", function(e)
    if e.args.old_pid ~= e.tid then
      changes:emit { pid = e.pid, time = e.time }
      if is_command then capture.stop() end
    end
  end)
  if ok then return end
  mine.untold = true -- as on kernels without types
  loop.warn("functions are not probed in a program that a thread other than the first executes: " .. tostring(why))
end

-- For the ledger: { { text, count }, … }
function leader.lost()
  local list = {}
  for i, of in ipairs(own().blind) do
    local cause = of[2] and
      ("process %d executed a program by a thread other than its first: no function was seen there for %s")
        :format(of[1], text.time(of[2])) or
      ("process %d executed a program by a thread other than its first: no function was seen there"):format(of[1])
    list[i] = { cause, 1, "a process executed a program by a thread other than its first: no function was seen there" }
  end
  return list
end

return leader
