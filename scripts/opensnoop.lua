--[=[
opensnoop: which files are opened, and which are not there?

  uplua opensnoop.lua [options] [-- PID ... or COMMAND]

prints a line for each open, openat and openat2 when it returns: the file's descriptor or the error, how long it took,
and the path as the program gave it.

  -f, --failed           only those that failed
  -n, --name TEXT        only paths with TEXT in them

  $ uplua opensnoop.lua --failed -- git status
--]=]
local up   = require "uplua"
local text = require "uplua.text"

local options = up.args {
  "opensnoop.lua [options] [-- PID ... or COMMAND]",
  { "failed,f",                           "only those that failed" },
  { "name,n",  "TEXT", "string", false,   "only paths with TEXT in them" },
  arguments = 0,
}

-- Bytes of a path: most need no more than the first, and the kernel opens none that is longer than the second.
local SHORT, LONGEST = 256, 4096
local opened = up.ring { size = "4M" }
local failed_only = options.failed

local function tell(e)
  if failed_only and e.ret >= 0 then return end
  local path = up.str(e.args.filename, SHORT)
  if path and #path == SHORT - 1 then
    opened:emit { at = e.time, pid = e.pid, comm = e.comm, ret = e.ret, ns = e.elapsed,
                  path = up.str(e.args.filename, LONGEST) }
  else
    opened:emit { at = e.time, pid = e.pid, comm = e.comm, ret = e.ret, ns = e.elapsed, path = path }
  end
end

up.sysreturn({ "openat", "openat2" }, tell)
if jit.arch == "x64" then up.sysreturn("open", tell) end -- newer machines have no open

opened:each(function(o)
  if options.name and not (o.path or ""):find(options.name, 1, true) then return end
  local result, took = o.ret < 0 and up.errno_name(-o.ret) or o.ret, text.time(o.ns)
  up.printf("%s  %-15s %7d %12s %9s  %s\n",
            up.clock(o.at), text.escape(o.comm), o.pid, result, took, text.escape(o.path or "?"))
end)

up.printf("%-15s  %-15s %7s %12s %9s  %s\n", "Time", "Process", "PID", "Descriptor", "Took", "Path")
