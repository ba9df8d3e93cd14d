--[=[
funccount: how often is each function called?

  uplua funccount.lua [options] SPEC ... [-- PID ... or COMMAND]

counts the hits of all probes that the specs name, by function, and prints them at the end, the most called first: on
Ctrl-C, when the target exits, or after --duration.

  -i, --interval TIME    prints what was counted each TIME, too
  -n, --top N            the N most called (default 0: all)
  -p, --by-process       by process and function

A spec is what --list prints and uprobe takes: libc:malloc, 'libc:str*', './app:ns::Klass::*', kprobe:'vfs_*',
tracepoint:'sched:*', syscall:'open*', usdt:./app:shop:'*'.

  $ uplua funccount.lua 'libc:pthread_mutex_*' -- redis-server
--]=]
local up   = require "uplua"
local view = require "uplua.view"

local options = up.args {
  "funccount.lua [options] SPEC ... [-- PID ... or COMMAND]",
  { "interval,i",   "TIME", "duration", false, "print what was counted each TIME, too", least = 0.01 },
  { "top,n",        "N",    "integer",  0,     "the N most called; 0: all" },
  { "by-process,p",                            "by process and function" },
}
if #options == 0 then up.wrong "which functions? Give specs, such as 'libc:str*'" end

local calls = up.count()

local function by_function(e) calls[e.func]:inc() end
local function by_process(e) calls[{ e.comm, e.pid, e.func }]:inc() end

for _, spec in ipairs(options) do
  if spec == "syscall:*" then up.wrong "syscall:'*' is one probe of all calls, which does not know their names; syscalls.lua tells them apart" end
end
up.probe(options, options.by_process and by_process or by_function)

local counts = view.new {
  options.by_process and { "comm", "Process" },
  options.by_process and { "pid", "PID", "number" },
  { "func", "Function" },
  { "calls", "Calls", "count" },
  by = "calls", top = options.top,
}

up.report(options.interval, function()
  local rows = {}
  for key, n in calls:take():pairs() do
    rows[#rows + 1] = options.by_process and { comm = key[1], pid = key[2], func = key[3], calls = n } or { func = key, calls = n }
  end
  counts:print(rows)
end)
