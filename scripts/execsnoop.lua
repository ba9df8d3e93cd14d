--[=[
execsnoop: which programs are started, with which arguments?

  uplua execsnoop.lua [options] [-- PID ... or COMMAND]

prints a line for each program that a process becomes (exec), and for each attempt that failed.

  -x, --exits            a line for each end, too: its status, and how long the program ran
      --name TEXT        only lines with TEXT in them
  -w, --where EXPR       only events for which EXPR is true: 'e.uid == 0', 'e.cgroup == 4242'
  -b, --by WHAT          with columns for the thread, cgroup, container, cpu, or an expression of the event
  -k, --key [NAME=]EXPR  a column NAME with the value of EXPR, an expression of the event e, such as e.uid; may be
                         repeated

With `uplua --follow execsnoop.lua -- COMMAND` what the command starts is told, too. Up to 20 arguments are shown, and
of long ones up to 255 bytes for each of these; "…" stands for what is left out.

  $ uplua execsnoop.lua --exits
  $ uplua --follow execsnoop.lua -- make
--]=]
local up   = require "uplua"
local by   = require "uplua.by"
local text = require "uplua.text"
local view = require "uplua.view"

local options = up.args {
  "execsnoop.lua [options] [-- PID ... or COMMAND]",
  { "exits,x",                          "a line for each end, too" },
  { "name",    "TEXT", "string", false, "only lines with TEXT in them" },
  { "where,w", "EXPR", "string", false, "only events for which EXPR is true: 'e.uid == 0'" },
  by.option, by.key,
  arguments = 0,
}

local MOST, LONGEST, PATH = 20, 256, 4096 -- arguments; bytes of a part of one, and of a path
local events = up.ring { size = "4M" }

local who = by.new(options.by, { keys = options.key })
local function whose(e) return 0 end
if who then whose = who.key end
local where = up.expression(options.where or "true", { name = "--where", kind = "condition" })

-- A process ends with the last of its threads. Its status is what its parent waits for (wait_task_zombie in the
-- kernel's kernel/exit.c).
local SIGNAL_GROUP_EXIT = 4 -- include/linux/sched/signal.h
local function status(p)
  if bit.band(p.signal.flags, SIGNAL_GROUP_EXIT) ~= 0 then return up.i64(p.signal.group_exit_code) end
  return up.i64(p.group_leader.exit_code)
end

-- The arguments lie one behind the other in the new program's memory, where the kernel has just written them. A long
-- one comes in parts.
up.raw_tracepoint("sched_process_exec", function(e)
  if not where(e) then return end
  local at, last, n = e.args.p.mm.arg_start, e.args.p.mm.arg_end, 0
  while at < last and n < MOST do
    local word = up.str(at, LONGEST)
    if not word then break end
    local part = #word == LONGEST - 1
    events:emit { pid = e.pid, n = n, word = word, part = part }
    at = at + #word
    if not part then at = at + 1 end
    n = n + 1
  end
  events:emit {
    at = e.time, pid = e.pid, comm = e.comm,
    born = e.args.p.start_boottime, parent = up.i64(e.args.p.real_parent.tgid), rest = at < last,
    who = whose(e),
  }
end)

up.sysreturn({ "execve", "execveat" }, function(e)
  if e.ret < 0 and where(e) then
    events:emit { failed = e.time, pid = e.pid, comm = e.comm, ret = e.ret,
                  path = up.str(e.args.filename, PATH), who = whose(e) }
  end
end)

if options.exits then
  up.raw_tracepoint("sched_process_exit", function(e)
    local p = e.args.p
    if p.signal.live.counter == 0 and where(e) then -- two threads that end at once may both see this
      events:emit { ended = e.time, pid = e.pid, born = p.group_leader.start_boottime, comm = p.group_leader.comm,
                    code = status(p), who = whose(e) }
    end
  end)
end

-- Processes that the target starts and that are not traced: what they execute is not shown.
local CLONE_THREAD = 0x10000 -- include/uapi/linux/sched.h
local target, started = up.target(), up.count()
if not (target.follow or target.whole_machine or target.cgroup) then
  up.raw_tracepoint("task_newtask", function(e)
    if bit.band(e.args.clone_flags, CLONE_THREAD) == 0 then started:inc() end
  end)
  up.at_exit(function()
    local n = started:get()
    if n == 0 then return end
    io.stderr:write(("execsnoop: the target has started %s, and what %s is not shown: uplua --follow traces them\n")
      :format(text.plural(n, "process", "processes"), n == 1 and "it executes" or "they execute"))
  end)
end

local lines = view.stream {
  { "time", "Time", "clock" }, { "comm", "Process", "text", 15 }, { "pid", "PID", "number", 7 },
  { "parent", "Parent", "number", 7 }, who and who.columns, { "command", "Command" },
}

-- Prints ROW, of EV.
local function tell(ev, row)
  if not options.name or (row.comm .. " " .. row.command):find(options.name, 1, true) then
    lines:print(who and who:fill(row, ev.who) or row)
  end
end

local function exit_of(code)
  local signal = bit.band(code, 0x7f)
  return signal ~= 0 and "signal " .. signal or "status " .. bit.rshift(code, 8)
end

local began = {} -- process → when it became its program, and when it was born, until it ends
local words = {} -- process → its arguments so far, and whether the last goes on

local function add(list, word, part)
  if part then word = word:sub(1, LONGEST - 1) end
  if list.part then list[#list] = list[#list] .. word else list[#list + 1] = word end
  list.part = part
end

events:each(function(ev)
  local pid = ev.pid
  if ev.word then
    if ev.n == 0 then words[pid] = {} end
    add(words[pid] or {}, ev.word, ev.part)
  elseif ev.at then
    local list = words[pid] or {}
    for i, word in ipairs(list) do list[i] = text.quote(word) end
    if ev.rest then list[#list + 1] = "…" end
    tell(ev, { time = ev.at, comm = ev.comm, pid = pid, parent = ev.parent, command = table.concat(list, " ") })
    words[pid] = nil
    began[pid] = options.exits and { at = ev.at, born = ev.born } or nil
  elseif ev.failed then
    local why = up.errno_name(-ev.ret)
    local command = ("%s: %s"):format(ev.path or "?", why)
    tell(ev, { time = ev.failed, comm = ev.comm, pid = pid, error = why, command = command })
  elseif began[pid] and began[pid].born == ev.born then
    local took, how = ev.ended - began[pid].at, exit_of(ev.code)
    tell(ev, { time = ev.ended, comm = ev.comm, pid = pid, ended = how, elapsed = took,
           command = ("ended with %s after %s"):format(how, text.time(took)) })
    began[pid] = nil
  end
end)

lines:titles()
