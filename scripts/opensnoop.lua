--[=[
opensnoop: which files are opened, and which are not there?

  uplua opensnoop.lua [options] [-- PID ... or COMMAND]

prints a line for each open, openat and openat2 when it returns: the file's descriptor or the error, how long it took,
and the path as the program gave it.

  -f, --failed           only those that failed
      --name TEXT        only paths with TEXT in them
  -b, --by WHAT          with columns for the thread, cgroup, container, cpu, or an expression of the event
  -k, --key [NAME=]EXPR  a column NAME with the value of EXPR, an expression of the event e; may be repeated
  -w, --where EXPR       only calls for which EXPR is true: 'e.elapsed > 1000000'

  $ uplua opensnoop.lua --failed -- git status
--]=]
local up   = require "uplua"
local by   = require "uplua.by"
local view = require "uplua.view"

local options = up.args {
  "opensnoop.lua [options] [-- PID ... or COMMAND]",
  { "failed,f",                           "only those that failed" },
  { "name",    "TEXT", "string", false,   "only paths with TEXT in them" },
  by.option, by.key,
  { "where,w", "EXPR", "string", false,   "only calls for which EXPR is true" },
  arguments = 0,
}

-- Bytes of a path: most need no more than the first, and the kernel opens none that is longer than the second.
local SHORT, LONGEST = 256, 4096
local opened = up.ring { size = "4M" }
local failed_only = options.failed

local who = by.new(options.by, { keys = options.key })
local function whose(e) return 0 end
if who then whose = who.key end
local where = up.expression(options.where or "true", { name = "--where", kind = "condition" })

local function tell(e)
  if failed_only and e.ret >= 0 or not where(e) then return end
  local of = whose(e)
  local path = up.str(e.args.filename, SHORT)
  if path and #path == SHORT - 1 then
    opened:emit { at = e.time, pid = e.pid, comm = e.comm, ret = e.ret, ns = e.elapsed, who = of,
                  path = up.str(e.args.filename, LONGEST) }
  else
    opened:emit { at = e.time, pid = e.pid, comm = e.comm, ret = e.ret, ns = e.elapsed, who = of, path = path }
  end
end

up.sysreturn({ "openat", "openat2" }, tell)
if jit.arch == "x64" then up.sysreturn("open", tell) end -- newer machines have no open

local lines = view.stream {
  { "time", "Time", "clock" }, { "comm", "Process", "text", 15 }, { "pid", "PID", "number", 7 }, who and who.columns,
  { "result", "Descriptor", "number", 12 }, { "elapsed", "Took", "ns", 9 }, { "path", "Path" },
}

opened:each(function(o)
  if options.name and not (o.path or ""):find(options.name, 1, true) then return end
  local row = {
    time = o.at, comm = o.comm, pid = o.pid, result = o.ret < 0 and up.errno_name(-o.ret) or o.ret, elapsed = o.ns,
    path = o.path or "?",
  }
  lines:print(who and who:fill(row, o.who) or row)
end)

lines:titles()
