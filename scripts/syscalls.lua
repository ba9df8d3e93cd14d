--[=[
syscalls: which system calls are made, how long do they take, and which fail?

  uplua syscalls.lua [options] [-- PID ... or COMMAND]

counts all system calls of the target, or of the whole machine, and prints at the end for each the number of calls, of
errors, the percentiles of the time that it took, and the time spent in it, the most first.

  -p, --by-process       by process and system call
  -e, --errors           the errors by name, too
  -i, --interval TIME    prints the counts each TIME, too
  -n, --top N            the N in which most time was spent (default 0: all)

Calls that were under way when tracing began, and those that do not return (exit_group), are not counted.

  $ uplua syscalls.lua --errors -- git status
--]=]
local up   = require "uplua"
local sys  = require "uplua.syscalls"
local view = require "uplua.view"

local options = up.args {
  "syscalls.lua [options] [-- PID ... or COMMAND]",
  { "by-process,p",                           "by process and system call" },
  { "errors,e",                               "the errors by name, too" },
  { "interval,i",  "TIME", "duration", false, "print the counts each TIME, too", least = "10ms" },
  { "top,n",       "N",    "integer",  0,     "the N in which most time was spent; 0: all" },
  arguments = 0,
}

local took, failed = up.hdr(2), up.count()

local function key(e) return e.nr end
if options.by_process then function key(e) return { e.nr, e.comm, e.pid } end end

local function error_key(e) return { e.nr, -e.ret } end
if options.by_process then function error_key(e) return { e.nr, -e.ret, e.comm, e.pid } end end

up.sysreturn("*", function(e)
  took[key(e)]:add(e.elapsed)
  if sys.failed(e.ret) then failed[error_key(e)]:inc() end
end)

local comm, pid = options.by_process and { "comm", "Process" }, options.by_process and { "pid", "PID", "number" }
local calls = view.new {
  comm, pid, { "name", "System call" }, { "calls", "Calls", "count" }, { "errors", "Errors", "count" },
  { "p50", "p50", "ns" }, { "p99", "p99", "ns" }, { "max", "Longest", "ns" }, { "sum", "Total", "ns" },
  by = "sum", top = options.top,
}
local errors = view.new {
  comm, pid, { "name", "System call" }, { "error", "Error" }, { "n", "Times", "count" },
  by = "n",
}

up.report(options.interval, function()
  local rows, of_call, error_rows = {}, {}, {}
  for k, n in failed:take():pairs() do
    local name = ("%d\0%s"):format(tonumber(k[1]), options.by_process and k[3] .. "\0" .. tostring(k[4]) or "")
    of_call[name] = (of_call[name] or 0) + n
    error_rows[#error_rows + 1] = {
      name = up.syscall_name(k[1]), error = up.errno_name(k[2]), n = n,
      comm = options.by_process and k[3] or nil, pid = options.by_process and k[4] or nil,
    }
  end
  for k, h in took:take():pairs() do
    local nr, comm, pid = k, nil, nil
    if options.by_process then nr, comm, pid = k[1], k[2], k[3] end
    local name = ("%d\0%s"):format(tonumber(nr), comm and comm .. "\0" .. tostring(pid) or "")
    rows[#rows + 1] = {
      comm = comm, pid = pid, name = up.syscall_name(nr), calls = h.count, errors = of_call[name],
      p50 = h:percentile(50), p99 = h:percentile(99), max = h.max, sum = h.sum,
    }
  end
  calls:print(rows)
  if options.errors and #error_rows > 0 then
    up.printf("\n")
    errors:print(error_rows)
  end
end)
