--[=[
offcputime: what does the program wait for?

  uplua offcputime.lua [options] [-- PID ... or COMMAND]

measures each time that a thread is off the CPU, from the switch away from it to the switch back, and prints at the end
the stacks in which most time was spent so: in locks, sleeps, reads from disks, pipes and sockets.

  -m, --min TIME         leaves out shorter times (default 1us)
  -b, --blocked          only threads that wait, not those that another one has taken the CPU from
  -u, --user             the program's part of stacks only
  -n, --top N            the N stacks in which most time was spent (default 20; 0: all)
      --folded FILE      writes all stacks to FILE with their microseconds, a line each, for other tools
      --flame FILE       draws all as a flame graph (SVG)
      --before FILE      with --flame: draws what differs from FILE, which another run has written with --folded

A thread that waits from before tracing began, or still waits at its end, is not counted for that.

  $ uplua --duration 10s offcputime.lua --blocked -- 4242
--]=]
local up     = require "uplua"
local files  = require "uplua.stack_files"
local stacks = require "uplua.stacks"
local text   = require "uplua.text"

local options = up.args {
  "offcputime.lua [options] [-- PID ... or COMMAND]",
  { "min,m",   "TIME", "duration", "1us", "leave out shorter times" },
  { "blocked,b",                          "only threads that wait" },
  { "user,u",                             "the program's part of stacks only" },
  { "top,n",   "N",    "integer",  20,    "the N stacks in which most time was spent; 0: all" },
  files.folded, files.flame, files.before,
  arguments = 0,
}
files.check(options)

local away = up.hash { max = 65536 } -- thread → { since, stack, comm }
local spent, times = up.sum(), up.count()
local least = options.min
local blocked_only = options.blocked

local function stack_of(e) return e:stack() end
if options.user then function stack_of(e) return e:ustack() end end

-- A thread that could run, but another one was given the CPU, has a state of 0; the kernel adds a flag where it was in
-- the middle of its work. One that has ended does not come back: its number is another's then.
local DEAD = 0x80 -- TASK_DEAD of include/linux/sched.h
local function counts(e)
  local state = bit.band(e.args.prev_state, 0xff)
  return state ~= DEAD and (not blocked_only or state ~= 0)
end

up.raw_tracepoint("sched_switch", function(e)
  if e.tid ~= 0 and counts(e) then
    away[e.tid] = { since = e.time, comm = e.comm, stack = stack_of(e) }
  end
end)

-- The thread that comes is not the one that the kernel works for then.
up.raw_tracepoint("sched_switch", { all = true }, function(e)
  local next = e.args.next.pid
  local left = away[next]
  if left then
    local took = e.time - left.since
    if took >= least then
      spent[{ left.comm, left.stack }]:add(took)
      times[{ left.comm, left.stack }]:inc()
    end
    away[next] = nil
  end
  if not counts(e) then away[e.tid] = nil end -- where the switch back from its last wait was not told
end)

up.at_exit(function()
  local rows, sum = stacks.rows(spent)
  local often = {}
  for _, row in ipairs(stacks.rows(times)) do often[row.id] = row.number end
  local shown = stacks.print(rows, options.top, function(row)
    return ("%12s  %s"):format(text.time(row.number), text.plural(often[row.id] or 0, "time"))
  end)
  up.printf("%s off the CPU in %s\n", text.time(sum), stacks.told(rows, shown, "longest"))
  for _, row in ipairs(rows) do row.number = math.floor(row.number / 1000 + 0.5) end
  files.write(options, stacks.named(rows), { title = "Off the CPU", unit = "us" })
end)
