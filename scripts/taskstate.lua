--[=[
taskstate: what do threads do with their time: run, wait for a CPU, or sleep?

  uplua taskstate.lua [options] [-- PID ... or COMMAND]

tells for each thread how long it was

  running      on a CPU
  preempted    able to run, but another thread was given its CPU, or it had yielded
  queued       woken, and waiting for a CPU
  sleeping     waiting for what may take any time: a request, a lock, a timer
  disk sleep   waiting in the kernel, not to be interrupted; iowait where that is for a disk
  stopped      by a signal or a debugger
  idle         a thread of the kernel without work

and prints the longest times in one of these with who ended them: of queued and preempted, the thread that had the CPU
until then; of the others, the one that woke it.

      --state NAME       whose longest times are shown, and by which threads are ordered (default queued)
  -B, --blocked          as --state iowait: waiting for a disk
  -t, --than TIME        prints each time in that state that is no shorter, as it ends
  -S, --stacks           with both stacks: where it began, and where it was ended
      --longest N        so many of the longest times (default 10)
  -i, --interval TIME    prints what was new each TIME; on a terminal the tables live, and the stacks are behind rows
  -n, --top N            so many threads (default 20; 0: all)

A thread counts from the start, or from its birth, to its end; a command from its first instruction; one that was
running or able to run at the start, from the next time that it leaves a CPU. The time that a thread has been in its
present state is counted, too. With --comm and --cgroup a thread counts from when it leaves a CPU as such a one to when
it leaves one as another.

  $ uplua --duration 5s taskstate.lua --state "disk sleep" --stacks -- 4242
--]=]
local up     = require "uplua"
local sched  = require "uplua.sched"
local states = require "uplua.states"
local view   = require "uplua.view"

local options = up.args {
  "taskstate.lua [options] [-- PID ... or COMMAND]",
  { "state",      "NAME", "string",   "queued", "whose longest times are shown" },
  { "than,t",     "TIME", "duration", false,    "print each time in that state that is no shorter" },
  { "blocked,B",                                "as --state iowait" },
  { "stacks,S",                                 "with both stacks" },
  { "longest",    "N",    "integer",  10,       "so many of the longest times", least = 0, most = 10000 },
  { "interval,i", "TIME", "duration", false,    "print what was new each TIME", least = "10ms" },
  { "top,n",      "N",    "integer",  20,       "so many threads; 0: all" },
  arguments = 0,
}
if options.blocked then options.state = "iowait" end
local target = up.target()
if target.cpus then up.args.fail "--cpu: a thread is in its states on whatever CPU; runqlat.lua takes --cpu" end

-- Threads change their names and cgroups: one that is traced by these may not be later.
local by_turns = target.comms or target.cgroup
local threads = states.new { names = sched.STATES, keys = "thread", stacks = options.stacks, longest = options.longest,
                             found = not target.command and not by_turns and sched.LETTERS or nil }
if not threads.numbers[options.state] then
  up.args.fail("--state: there is no state '%s'; there are %s", options.state, table.concat(sched.STATES, ", "))
end

local function stack(e) return nil end
if options.stacks then function stack(e) return e:stack() end end

local function leaves(e)
  if sched.ends(e) then threads:leave(e.tid) else threads:enter(e.tid, sched.state(e), stack(e)) end
end

-- What comes counts for threads that are known already: the one that leaves for it may be none of the target's.
local function comes(e)
  if e.args.next.pid ~= 0 then threads:move(e.args.next.pid, "running") end
end

-- A thread that is not traced leaves a CPU; it may have been traced before.
local function is_other(e) end
if by_turns then
  function is_other(e)
    if sched.ends(e) then threads:leave(e.tid) else threads:pause(e.tid) end
  end
end

up.raw_tracepoint("sched_switch", { all = true, begun = true }, function(e)
  if e.traced and e.tid ~= 0 then
    local _ = e.time -- one look at the clock for both
    leaves(e)
    comes(e)
  else
    is_other(e)
    comes(e)
  end
end)

-- A command, which none has seen as yet, begins when uplua lets it go: it is woken.
local function wakes(e, pid) threads:move(pid, "queued") end
if target.command and not by_turns then
  local command = target.pids[1]
  function wakes(e, pid)
    if pid == command then threads:enter(pid, "queued") else threads:move(pid, "queued") end
  end
end

up.raw_tracepoint("sched_wakeup", { all = true, begun = true }, function(e)
  if e.args.p.on_cpu == 0 then wakes(e, e.args.p.pid) end -- else it has been woken before it slept
end)

-- Threads that a traced one makes; processes, where these are traced, too.
local with_children = target.whole_machine or target.follow

up.raw_tracepoint("sched_wakeup_new", function(e)
  if with_children or e.args.p.tgid == e.pid then threads:enter(e.args.p.pid, "queued") end
end)

if options.than then
  local lines = view.stream {
    { "at", "Until", "clock" }, { "elapsed", "Took", "ns", 9 }, { "who", "Thread", "text", 32 },
    { "ended", "Ended by" },
  }
  lines:titles()
  threads:slow(options.state, options.than, function(s) lines:print(threads:line(s)) end)
end

up.report(options.interval, function()
  threads:print { by = options.state, top = options.top, anew = options.interval and true }
end, { tables = not options.than }) -- whose lines stand between
