--[=[
trace: what happens, one line each?

  uplua trace.lua [options] SPEC ... [-- PID ... or COMMAND]

prints a line for each hit of any of the probes, in order of time: the thread and the arguments, by name where the probe
has names.

  -r, --return           calls when they return: with what they return, and how long they took
  -s, --stack            with the program's stack
  -w, --where EXPR       only hits for which EXPR, a Lua expression of the event e, is true: 'e.arg0 > 4096'

A spec is libc:malloc, 'libc:str*', syscall:'open*', kprobe:vfs_read, tracepoint:sched:sched_switch,
usdt:./app:shop:sold.

  $ uplua trace.lua --return syscall:openat -- git status
--]=]
local up    = require "uplua"
local text  = require "uplua.text"
local trace = require "uplua.trace"

local options = up.args {
  "trace.lua [options] SPEC ... [-- PID ... or COMMAND]",
  { "return,r",                          "calls when they return" },
  { "stack,s",                           "with the program's stack" },
  { "where,w", "EXPR", "string",  false, "only hits for which EXPR is true" },
}
if #options == 0 then up.args.fail "no probes to trace: give specs, such as syscall:openat" end

trace.each(options, { returns = options["return"], where = options.where, stack = options.stack }, function(event)
  up.printf("%s  %-15s %7d  %s%s\n", up.clock(event.time), text.escape(event.comm), event.tid, event.call,
    event.elapsed and (" (%s)"):format(text.time(event.elapsed)) or "")
  if event.stack then up.printf("%s\n", event.stack) end
end)

up.printf("%-15s  %-15s %7s  %s\n", "Time", "Process", "TID", "Event")

up.at_exit(function()
  local net = up.probe_cost()
  if net then up.printf("Times of functions are %s.\n", net) end
end)
