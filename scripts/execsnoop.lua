--[=[
execsnoop: which programs are started, with which arguments?

  uplua execsnoop.lua [options] [-- PID ... or COMMAND]

prints a line for each program that a process becomes (exec), and for each attempt that failed.

  -x, --exits            a line for each end, too: its status, and how long the program ran
  -n, --name TEXT        only lines with TEXT in them

With `uplua --follow execsnoop.lua -- COMMAND` what the command starts is told, too. Up to 20 arguments are shown, and of
long ones up to 255 bytes for each of these; "…" stands for what is left out.

  $ uplua execsnoop.lua --exits
  $ uplua --follow execsnoop.lua -- make
--]=]
local up = require "uplua"

local options = up.args {
  "execsnoop.lua [options] [-- PID ... or COMMAND]",
  { "exits,x",                          "a line for each end, too" },
  { "name,n",  "TEXT", "string", false, "only lines with TEXT in them" },
  arguments = 0,
}

local MOST, LONGEST = 20, 256
local events = up.ring { size = "4M" }
local began  = up.hash { max = 65536 } -- process → when it became its program

-- The arguments lie one behind the other in the new program's memory, where the kernel has just written them. A long one comes in parts.
up.rawtracepoint("sched_process_exec", function(e)
  local at, last, n = e.args.p.mm.arg_start, e.args.p.mm.arg_end, 0
  began[e.pid] = e.time
  while at < last and n < MOST do
    local word = up.str(at, LONGEST)
    if not word then break end
    local part = #word == LONGEST - 1
    events:emit { pid = e.pid, n = n, word = word, part = part }
    at = at + #word
    if not part then at = at + 1 end
    n = n + 1
  end
  events:emit { at = e.time, pid = e.pid, parent = up.i64(e.args.p.real_parent.tgid), comm = e.comm, rest = at < last }
end)

up.sysreturn({ "execve", "execveat" }, function(e)
  if e.ret < 0 then events:emit { failed = e.time, pid = e.pid, comm = e.comm, ret = e.ret, path = up.str(e.args.filename, LONGEST) } end
end)

if options.exits then
  up.rawtracepoint("sched_process_exit", function(e)
    if e.tid == e.pid then
      local since = began[e.pid]
      if since then
        events:emit { ended = e.time, pid = e.pid, comm = e.comm, ran = e.time - since, code = up.i64(e.args.p.exit_code) }
        began[e.pid] = nil
      end
    end
  end)
end

local function line(format, ...)
  local text = format:format(...)
  if not options.name or text:find(options.name, 1, true) then up.printf("%s\n", text) end
end

local function exit_of(code)
  local signal = bit.band(code, 0x7f)
  return signal ~= 0 and "signal " .. signal or "status " .. bit.rshift(code, 8)
end

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
    for i, word in ipairs(list) do list[i] = up.quote(word) end
    if ev.rest then list[#list + 1] = "…" end
    line("%s  %-15s %7d %7d  %s", up.clock(ev.at), up.escape(ev.comm), pid, ev.parent, up.escape(table.concat(list, " ")))
    words[pid] = nil
  elseif ev.failed then
    line("%s  %-15s %7d %7s  %s: %s", up.clock(ev.failed), up.escape(ev.comm), pid, "", up.escape(ev.path or "?"), up.error_name(-ev.ret))
  else
    line("%s  %-15s %7d %7s  ended with %s after %s", up.clock(ev.ended), up.escape(ev.comm), pid, "", exit_of(ev.code),
      up.seconds(tonumber(ev.ran) / 1e9))
  end
end)

up.printf("%-15s  %-15s %7s %7s  %s\n", "Time", "Process", "PID", "Parent", "Command")
