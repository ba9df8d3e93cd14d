--[=[
execsnoop: which programs are started, with which arguments?

  uplua execsnoop.lua [options] [-- PID ... or COMMAND]

prints a line for each program that a process becomes (exec), and for each attempt that failed.

  -x, --exits            a line for each end, too: its status, and how long the program ran
  -n, --name TEXT        only lines with TEXT in them

With `uplua --follow execsnoop.lua -- COMMAND` what the command starts is told, too. Up to 20 arguments are shown, and
of long ones up to 255 bytes for each of these; "…" stands for what is left out.

  $ uplua execsnoop.lua --exits
  $ uplua --follow execsnoop.lua -- make
--]=]
local up   = require "uplua"
local text = require "uplua.text"

local options = up.args {
  "execsnoop.lua [options] [-- PID ... or COMMAND]",
  { "exits,x",                          "a line for each end, too" },
  { "name,n",  "TEXT", "string", false, "only lines with TEXT in them" },
  arguments = 0,
}

local MOST, LONGEST, PATH = 20, 256, 4096 -- arguments; bytes of a part of one, and of a path
local events = up.ring { size = "4M" }

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
  }
end)

up.sysreturn({ "execve", "execveat" }, function(e)
  if e.ret < 0 then
    events:emit { failed = e.time, pid = e.pid, comm = e.comm, ret = e.ret, path = up.str(e.args.filename, PATH) }
  end
end)

if options.exits then
  up.raw_tracepoint("sched_process_exit", function(e)
    local p = e.args.p
    if p.signal.live.counter == 0 then -- two threads that end at once may both see this
      events:emit { ended = e.time, pid = e.pid, born = p.group_leader.start_boottime, comm = p.group_leader.comm,
                    code = status(p) }
    end
  end)
end

local function line(format, ...)
  local shown = format:format(...)
  if not options.name or shown:find(options.name, 1, true) then up.printf("%s\n", shown) end
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
    local command = text.escape(table.concat(list, " "))
    line("%s  %-15s %7d %7d  %s", up.clock(ev.at), text.escape(ev.comm), pid, ev.parent, command)
    words[pid] = nil
    began[pid] = options.exits and { at = ev.at, born = ev.born } or nil
  elseif ev.failed then
    local path, why = text.escape(ev.path or "?"), up.errno_name(-ev.ret)
    line("%s  %-15s %7d %7s  %s: %s", up.clock(ev.failed), text.escape(ev.comm), pid, "", path, why)
  elseif began[pid] and began[pid].born == ev.born then
    line("%s  %-15s %7d %7s  ended with %s after %s", up.clock(ev.ended), text.escape(ev.comm), pid, "",
      exit_of(ev.code), text.time(ev.ended - began[pid].at))
    began[pid] = nil
  end
end)

up.printf("%-15s  %-15s %7s %7s  %s\n", "Time", "Process", "PID", "Parent", "Command")
