--[=[
syscalls: which system calls are made, how long do they take, and which fail?

  uplua syscalls.lua [options] [-- PID ... or COMMAND]

counts all system calls of the target, or of the whole machine, and prints at the end for each the number of calls, of
errors, the percentiles of the time that it took, and the time spent in it, the most first.

  -b, --by WHAT          by WHAT and system call: process, thread, cgroup, container, cpu, or an expression of the event
                         such as e.uid
  -p, --by-process       as --by process
  -k, --key [NAME=]EXPR  by the value of EXPR, too, an expression of the event e, in a column NAME; may be repeated
  -s, --sum [NAME=]EXPR  a column with the sum of EXPR's values: 'bytes=e.arg2'; may be repeated
  -w, --where EXPR       only calls for which EXPR is true: 'e.ret < 0', 'e.elapsed > 1000000'
      --errors           the errors by name, too
  -i, --interval TIME    prints the counts each TIME, too
  -n, --top N            the N in which most time was spent (default 0: all)

Calls that were under way when tracing began, and those that do not return (exit_group), are not counted.

  $ uplua syscalls.lua --errors -- git status
--]=]
local up       = require "uplua"
local by       = require "uplua.by"
local syscalls = require "uplua.syscalls"

local options = up.args {
  "syscalls.lua [options] [-- PID ... or COMMAND]",
  by.option,
  { "by-process,p",                           "as --by process" },
  by.key, by.sum,
  { "where,w",     "EXPR", "string",   false, "only calls for which EXPR is true" },
  { "errors",                                 "the errors by name, too" },
  { "interval,i",  "TIME", "duration", false, "print the counts each TIME, too", least = "10ms" },
  { "top,n",       "N",    "integer",  0,     "the N in which most time was spent; 0: all" },
  arguments = 0,
}

syscalls.report(nil, {
  by = options.by or options.by_process and "process", keys = options.key, sums = options.sum, where = options.where,
  errors = options.errors, interval = options.interval, top = options.top,
})
