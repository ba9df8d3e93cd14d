--[=[
systrace: strace's line for each system call, at a fraction of its price

  uplua systrace.lua [options] [-- PID ... or COMMAND]

prints a line for each system call when it returns: the time, the thread, the arguments by name, what it returned or the
error's name, and how long it took. The target is not stopped at any call.

  -e, --call NAME        only calls whose name is NAME, or has what the pattern means ('*stat*'); several: 'read,write'
  -f, --failed           only calls that failed
  -s, --strings N        so many bytes of a string (default 64, at most 255)

With `uplua --follow systrace.lua -- COMMAND` what the command starts is traced, too. Arguments that are structures are
shown as addresses.

  $ uplua systrace.lua --failed -- git status
--]=]
local up       = require "uplua"
local syscalls = require "uplua.syscalls"
local text     = require "uplua.text"

local options = up.args {
  "systrace.lua [options] [-- PID ... or COMMAND]",
  { "call,e",    "NAME", "string",  false, "only calls of this name, or pattern; several: read,write" },
  { "failed,f",                            "only calls that failed" },
  { "strings,s", "N",    "integer", 64,    "so many bytes of a string", least = 1, most = 255 },
  arguments = 0,
}

local chosen = { failed = options.failed, strings = options.strings }

syscalls.trace(options.call or nil, chosen, function(call)
  local took = call.elapsed and (" <%s>"):format(text.time(call.elapsed)) or ""
  up.printf("%s  %-15s %7d  %s%s\n", up.clock(call.time), text.escape(call.comm), call.tid, call.line, took)
end)
