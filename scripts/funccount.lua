--[=[
funccount: how often is each function called?

  uplua funccount.lua [options] SPEC ... [-- PID ... or COMMAND]

counts the hits of all probes that the specs name, by function, and prints them at the end, the most called first: on
Ctrl-C, when the target exits, or after --duration.

  -i, --interval TIME    prints the counts each TIME, too
  -n, --top N            the N most called (default 0: all)
  -p, --by-process       by process and function

A spec is what --list prints and uprobe takes: libc:malloc, 'libc:str*', './app:ns::Klass::*', kprobe:'vfs_*',
tracepoint:'sched:*', syscall:'open*', usdt:./app:shop:'*'.

  $ uplua funccount.lua 'libc:pthread_mutex_*' -- redis-server
--]=]
local up    = require "uplua"
local specs = require "uplua.specs"
local view  = require "uplua.view"

local options = up.args {
  "funccount.lua [options] SPEC ... [-- PID ... or COMMAND]",
  { "interval,i",   "TIME", "duration", false, "print the counts each TIME, too", least = "10ms" },
  { "top,n",        "N",    "integer",  0,     "the N most called; 0: all" },
  { "by-process,p",                            "by process and function" },
}
if #options == 0 then up.args.fail "which functions? Give specs, such as 'libc:str*'" end

local calls = up.count()

local several = specs.ambiguous(options)

local function count(e) calls[e.func]:inc() end
if several then function count(e) calls[{ e.func, e.probe }]:inc() end end
if options.by_process then function count(e) calls[{ e.func, e.comm, e.pid }]:inc() end end
if options.by_process and several then function count(e) calls[{ e.func, e.comm, e.pid, e.probe }]:inc() end end

for _, spec in ipairs(options) do
  if spec == "syscall:*" then
    up.args.fail "syscall:'*' is one probe of all calls, which does not know their names; syscalls.lua tells them apart"
  end
end
up.probe(options, count)

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
    local row = { func = key, calls = n }
    if options.by_process then row.func, row.comm, row.pid = key[1], key[2], key[3] end
    if several then row.func, row.probe = key[1], key[options.by_process and 4 or 2] end
    rows[#rows + 1] = row
  end
  if several then specs.name_apart(rows, options) end
  counts:print(rows)
end)
