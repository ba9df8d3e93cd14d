--[=[
funcslower: which calls took longer than they should?

  uplua funcslower.lua [options] SPEC ... [-- PID ... or COMMAND]

prints a line for each call that took at least --min, when it returns: the time, the thread, how long it took, its
arguments and what it returned.

  -m, --min TIME         the time from which on a call is printed (default 1ms; 0: all calls)
  -s, --stack            with the stack of the caller
  -w, --where EXPR       only calls for which EXPR is true, such as 'e.arg0 > 4096'

A spec is libc:malloc, 'libc:str*', syscall:openat, kprobe:vfs_read.

  $ uplua funcslower.lua --min 10ms syscall:fsync 'syscall:*write*' -- postgres
--]=]
local up    = require "uplua"
local text  = require "uplua.text"
local trace = require "uplua.trace"

local options = up.args {
  "funcslower.lua [options] SPEC ... [-- PID ... or COMMAND]",
  { "min,m",   "TIME", "duration", "1ms", "the time from which on a call is printed; 0: all calls" },
  { "stack,s",                            "with the stack of the caller" },
  { "where,w", "EXPR", "string",   false, "only calls for which EXPR is true" },
}
if #options == 0 then up.args.fail "which functions? Give specs, such as syscall:fsync" end

local slow = { returns = true, min = options.min, where = options.where, stack = options.stack }
trace.each(options, slow, function(event)
  local took = text.time(event.elapsed)
  up.printf("%s  %-15s %7d %9s  %s\n", up.clock(event.time), text.escape(event.comm), event.tid, took, event.call)
  if event.stack then up.printf("%s\n", event.stack) end
end)

up.printf("%-15s  %-15s %7s %9s  %s\n", "Time", "Process", "TID", "Took", "Call")

up.at_exit(function()
  local net = up.probe_cost()
  if net then up.printf("Times of functions are %s.\n", net) end
end)
