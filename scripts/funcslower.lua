--[=[
funcslower: which calls took longer than they should?

  uplua funcslower.lua [options] SPEC ... [-- PID ... or COMMAND]

prints a line for each call that took at least --min, when it returns: the time, the thread, how long it took, its
arguments and what it returned.

  -m, --min TIME         the time from which on a call is printed (default 1ms; 0: all calls)
  -S, --stack            with the stack of the caller
  -b, --by WHAT          with columns for the process, cgroup, container, cpu, or an expression of the event
  -k, --key [NAME=]EXPR  a column NAME with the value of EXPR, an expression of the event e; may be repeated
  -w, --where EXPR       only calls for which EXPR is true, such as 'e.arg0 > 4096'; behind a spec, of that one alone

A spec is libc:malloc, 'libc:str*', syscall:openat, kprobe:vfs_read.

  $ uplua funcslower.lua --min 10ms syscall:fsync 'syscall:*write*' -- postgres
--]=]
local up    = require "uplua"
local by    = require "uplua.by"
local specs = require "uplua.specs"
local trace = require "uplua.trace"
local view  = require "uplua.view"

local options = up.args {
  "funcslower.lua [options] SPEC ... [-- PID ... or COMMAND]",
  { "min,m",   "TIME", "duration", "1ms", "the time from which on a call is printed; 0: all calls" },
  { "stack,S",                            "with the stack of the caller" },
  by.option, by.key, specs.where,
}
if #options == 0 then up.args.fail "which functions? Give specs, such as syscall:fsync" end

local who = by.new(options.by, { keys = options.key })

local calls = view.stream {
  { "time", "Time", "clock" }, { "comm", "Process", "text", 15 }, { "tid", "TID", "number", 7 },
  who and who.columns, { "elapsed", "Took", "ns", 9, zero = "< 100 ns" }, { "call", "Call" },
}
local slow = { returns = true, min = options.min, where = options.where, stack = options.stack,
  key = who and who.key }
local each = {}
for i, spec in ipairs(options) do each[i] = { spec, where = options.of[i].where } end
trace.each(each, slow, function(event)
  calls:print(who and who:fill(event, event.key) or event)
end)

calls:titles()

up.at_exit(function()
  local net = up.probe_cost()
  if net then up.printf("Times of functions are %s.\n", net) end
end)
