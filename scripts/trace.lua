--[=[
trace: what happens, one line each?

  uplua trace.lua [options] SPEC ... [-- PID ... or COMMAND]

prints a line for each hit of any of the probes, in order of time: the thread and the arguments, by name and type where
the probe has them; inside of a function, as at a source line, the variables there.

  -r, --return           calls when they return: with what they return, and how long they took
  -d, --depth N          follow N pointers from each argument to the structures that they lead to (default 1; 0: none)
  -S, --stack            with the program's stack
  -K, --kernel           with the kernel's stack; with --stack both
  -w, --where EXPR       only hits for which EXPR, a Lua expression of the event e, is true: 'e.arg0 > 4096'
  --json                 a JSON object for each hit: --format json
      --print WHAT       print WHAT instead: a format in quotes and expressions, '"%s, %d bytes", e.comm, e.arg0'

--where and --print behind a spec are for that spec alone; before the first one they are for all.

A spec is libc:malloc, 'libc:str*', syscall:'open*', kprobe:vfs_read, tracepoint:sched:sched_switch,
usdt:./app:shop:sold, ./app@app.c:42.

  $ uplua trace.lua --return syscall:openat -- git status
  $ uplua trace.lua libc:malloc -w 'e.arg0 > 4096' --print '"%d bytes\n%s", e.arg0, e:ustack()' libc:free -- ls
--]=]
local up    = require "uplua"
local text  = require "uplua.text"
local trace = require "uplua.trace"
local view  = require "uplua.view"

for i, word in ipairs(arg) do
  if word == "--json" then arg[i] = "--format=json" end -- as people know it from other tracers
end

local options = up.args {
  "trace.lua [options] SPEC ... [-- PID ... or COMMAND]",
  { "return,r",                          "calls when they return" },
  { "depth,d", "N", "integer", 1, "follow N pointers from each argument", most = 8 },
  { "stack,S",                           "with the program's stack" },
  { "kernel,K",                          "with the kernel's stack" },
  { "json",                              "a JSON object for each hit: --format json" },
  { "where,w", "EXPR", "string", false, "only hits for which EXPR is true", of_argument = true },
  { "print",   "WHAT", "string", false, "print a format with expressions instead", of_argument = true },
}
if #options == 0 then up.args.fail "no probes to trace: give specs, such as syscall:openat" end

local events = view.stream {
  { "time", "Time", "clock" }, { "comm", "Process", "text", 15 }, { "tid", "TID", "number", 7 }, { "event", "Event" },
}

local how = {
  returns = options["return"], where = options.where, stack = options.stack, kernel = options.kernel,
  depth = options.depth, print = options.print,
}
local specs = {}
for i, spec in ipairs(options) do
  specs[i] = { spec, where = options.of[i].where, print = options.of[i].print }
end
trace.each(specs, how, function(event)
  local took = event.elapsed and (" (%s)"):format(text.time(event.elapsed)) or ""
  local room, width = events:room()
  local call, further = trace.lines(event, room - text.width(took), width)
  event.event = call .. took
  events:print(event, further)
end)

events:titles()

up.at_exit(function()
  local net = up.probe_cost()
  if net then up.printf("Times of functions are %s.\n", net) end
end)
