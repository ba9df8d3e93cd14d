-- What the scheduler's tracepoints tell: in which state a thread leaves its CPU, whether it goes on, and who ran
-- meanwhile.
--
--   local sched = require "uplua.sched"
--   up.raw_tracepoint("sched_switch", function(e)
--     if not sched.ends(e) then left[{ e.tid, sched.state(e) }]:inc() end
--   end)
--
-- In handlers of raw_tracepoint:sched_switch, of the thread that leaves the CPU:
--   sched.goes_on(e)      it could run: another one was given its CPU, or it has yielded
--   sched.ends(e)         it has ended: its number may be another thread's then
--   sched.is_held(e)      it stands still for a debugger, as a command does that uplua is about to start
--   sched.state(e)        one of sched.STATES: "preempted", "sleeping", "disk sleep", "iowait", "stopped", "idle"
-- In the script:
--   sched.STATES          these, and "running" and "queued", in which no thread leaves a CPU
--   sched.LETTERS         the state of each letter of /proc/PID/stat: of "R" it is not known which
--   sched.WINDOW          of a span from where a thread could run to the switch to it: what ran on its CPU meanwhile
--   sched.meanwhile(s)    … of one that slow() of uplua.span has given
--   sched.turns(fn)       calls FN for each time that a thread has had a CPU
--   sched.waits(parts)    for how long threads wait for a CPU, for handlers
local capture = require "uplua.compile.capture"
local object  = require "uplua.objects.object"
local up      = require "uplua"

local sched = {
  STATES  = { "running", "preempted", "queued", "sleeping", "disk sleep", "iowait", "stopped", "idle" },
  LETTERS = { S = "sleeping", D = "disk sleep", T = "stopped", t = "stopped", I = "idle" },
  WINDOW  = { { "raw_tracepoint:sched_switch", all = true }, by = "cpu", before = 0, after = 0, size = "4M" },
}

local THREADS = 65536 -- that are followed
local FEWER = "trace fewer threads"

-- include/linux/sched.h
local UNINTERRUPTIBLE, STOPPED, TRACED, DEAD, NOLOAD, ANY = 0x02, 0x0c, 0x08, 0x80, 0x400, 0xff

sched.goes_on = capture.inlined(function(e)
  return e.args.preempt or bit.band(e.args.prev_state, ANY) == 0
end)

sched.ends = capture.inlined(function(e) return bit.band(e.args.prev_state, DEAD) ~= 0 end)

sched.is_held = capture.inlined(function(e) return bit.band(e.args.prev_state, ANY) == TRACED end)

sched.state = capture.inlined(function(e)
  local state = e.args.prev_state
  if e.args.preempt or bit.band(state, ANY) == 0 then return "preempted" end
  if bit.band(state, STOPPED) ~= 0 then return "stopped" end
  if bit.band(state, UNINTERRUPTIBLE) == 0 then return "sleeping" end
  if bit.band(state, NOLOAD) ~= 0 then return "idle" end
  if e.args.prev.in_iowait ~= 0 then return "iowait" end
  return "disk sleep"
end)

-- meanwhile(s): what ran on the CPU s.to.cpu while the thread s.key of S, a span with that window, waited: a list, the
-- latest first, of { tid, comm, took }; and for how many ns from the begin it is not known, since it was overwritten.
function sched.meanwhile(s)
  local ran, at, cpu = {}, tonumber(s.from.time), s.to.cpu
  for _, gap in ipairs(s.missing) do
    if gap.cpu == cpu then at = math.max(at, gap.to) end
  end
  local unknown = at - tonumber(s.from.time)
  local function leaves(who, time)
    if who.tid ~= s.key then table.insert(ran, 1, { tid = who.tid, comm = who.comm, took = time - at }) end
    at = time
  end
  for _, event in ipairs(s.events) do -- each switch tells who has left
    if event.cpu == cpu and event.time > at and event.time <= s.to.time then leaves(event, event.time) end
  end
  -- The switch that has ended the span may be among them: else the one that has left there is the last.
  if not ran[1] or ran[1].tid ~= s.to.tid then leaves(s.to, tonumber(s.to.time)) end
  return ran, unknown
end

local PARTS = { whose = true, where = true, done = true }

-- waits(parts): follows the target's threads from when they could run, since they were woken or another one was given
-- their CPU, to when they run. PARTS are functions for handlers: whose(e), what is kept of a thread that leaves a CPU;
-- where(e), false for one that is not to be followed (nil: all are); done(e, who, took), for each wait at its end, with
-- what whose has returned, and ns. A thread is followed once it has left a CPU.
function sched.waits(parts)
  for name, part in pairs(type(parts) == "table" and parts or {}) do
    if not PARTS[name] or type(part) ~= "function" then
      error("sched.waits: whose, where and done, functions, are expected; not " .. tostring(name), 2)
    end
  end
  if type(parts) ~= "table" or not parts.whose or not parts.done then
    error("sched.waits: a table with the functions whose and done is expected", 2)
  end
  local asleep = object.advise(up.hash { max = THREADS }, FEWER) -- thread → { who }
  local ready  = object.advise(up.hash { max = THREADS }, FEWER) -- thread → { since, who }
  rawset(asleep, "read", true)
  rawset(ready, "read", true)
  local whose, done, where = parts.whose, parts.done, parts.where or capture.inlined(function() return true end)

  -- One that has ended does not come back: its number is another's then.
  up.raw_tracepoint("sched_switch", { every_cpu = true }, capture.inlined(function(e)
    if e.tid ~= 0 and where(e) then
      local state = bit.band(e.args.prev_state, ANY)
      if state == 0 then
        ready[e.tid] = { since = e.time, who = whose(e) }
      elseif state ~= DEAD then
        asleep[e.tid] = { who = whose(e) }
      end
    end
  end))

  -- Any process may wake a thread or leave the CPU to it.
  up.raw_tracepoint("sched_wakeup", { all = true, every_cpu = true }, capture.inlined(function(e)
    local tid = e.args.p.pid
    local left = asleep[tid]
    if left then
      ready[tid] = { since = e.time, who = left.who }
      asleep[tid] = nil
    end
  end))
  up.raw_tracepoint("sched_switch", { all = true, every_cpu = true }, capture.inlined(function(e)
    local next = e.args.next
    local r = ready[next.pid]
    if r then
      done(e, r.who, e.time - r.since)
      ready[next.pid] = nil
    end
    if bit.band(e.args.prev_state, ANY) == DEAD then
      asleep[e.tid], ready[e.tid] = nil, nil
    end
  end))
end

-- turns(fn): calls FN for each time that a thread of the target has had a CPU, when it leaves it: with { cpu, from, to,
-- pid, tid, comm }, a view of a ring's record.
function sched.turns(fn)
  if type(fn) ~= "function" then error("sched.turns: a function is expected", 2) end
  local came, ran = up.lru_hash { max = 65536 }, up.ring { size = "16M" }
  rawset(came, "read", true)
  up.raw_tracepoint("sched_switch", { all = true }, capture.inlined(function(e)
    if e.traced and e.tid ~= 0 then
      local since = came[e.tid]
      if since then
        ran:emit { from = since, to = e.time, cpu = e.cpu, tid = e.tid, pid = e.pid, comm = e.comm }
        came[e.tid] = nil -- where the switch to its next turn is not seen, that is none
      end
    end
    if e.args.next.pid ~= 0 then came[e.args.next.pid] = e.time end
  end))
  ran:each(fn)
end

return sched
