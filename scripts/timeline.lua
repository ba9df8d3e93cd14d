--[=[
timeline: what happened when, on CPUs and in threads, as a file for viewers of traces?

  uplua timeline.lua [options] [-- PID ... or COMMAND]

writes a file of Chrome's JSON, which ui.perfetto.dev, about:tracing and speedscope draw: a line for each CPU and
thread.

  -o, --output FILE      the file (default timeline.json)
  -C, --cpus             which thread ran on each CPU, and when
      --calls SPEC       calls of functions or system calls, such as './app:*'; may be given several times
  -e, --events SPEC      each hit as a moment: USDT probes, tracepoints, any other; may be given several times
      --marks            what programs write to trace_marker, as Android's atrace does: B|PID|name and E|PID begin and
                         end a span of the thread, S|PID|name|cookie and F|PID|name|cookie one that may end elsewhere,
                         C|PID|name|value is a counter, and any other text a moment
      --args             with the arguments and results of calls and events
      --size SIZE        the file grows to SIZE at most (default 1G)

Without --cpus, --calls, --events and --marks: --cpus --marks. A call is in the file when it has returned; a thread that
runs, when it leaves the CPU.

  $ uplua timeline.lua --calls './app:*' --events 'usdt:./app:*' --cpus -o t.json -- ./app
--]=]
local up       = require "uplua"
local marks    = require "uplua.marks"
local sched    = require "uplua.sched"
local text     = require "uplua.text"
local timeline = require "uplua.timeline"
local trace    = require "uplua.trace"

local options = up.args {
  "timeline.lua [options] [-- PID ... or COMMAND]",
  { "output,o", "FILE", "string", "timeline.json", "the file" },
  { "cpus,C",                                      "which thread ran on each CPU" },
  { "calls",    "SPEC", "string", false,           "calls of functions or system calls", several = true },
  { "events,e", "SPEC", "string", false,           "each hit as a moment", several = true },
  { "marks",                                       "what programs write to trace_marker" },
  { "args",                                        "with arguments and results" },
  { "size",     "SIZE", "size",   "1G",            "the file grows to SIZE at most" },
  arguments = 0,
}
if #options.calls == 0 and #options.events == 0 and not options.cpus and not options.marks then
  options.cpus, options.marks = true, true
end
local opened, t = pcall(timeline.new, options.output, { size = options.size })
if not opened then up.args.fail("--output: %s", (tostring(t):gsub("^.-timeline: ", ""))) end

local function thread_of(r) return t:track { process = r.pid, thread = r.tid, name = r.comm } end

-- --- which thread ran on each CPU ---

if options.cpus then
  local cpus = {}
  sched.turns(function(r)
    local cpu = tonumber(r.cpu)
    cpus[cpu] = cpus[cpu] or t:track { process = "CPUs", name = ("CPU %d"):format(cpu) }
    t:span(cpus[cpu], r.comm, r.from, r.to, { tid = r.tid, pid = r.pid })
  end)
end

-- --- calls and events ---

-- The arguments of EVENT, of uplua.trace, by name, and what it returned.
local function args_of(event)
  local args = {}
  for _, argument in ipairs(event.arguments) do args[argument.name or #args + 1] = argument.text end
  args["returned"] = event.result
  return args
end

if #options.calls > 0 and options.args then
  trace.each(options.calls, { returns = true }, function(event)
    t:span(thread_of(event), event.name, event.time - event.elapsed, event.time, args_of(event))
  end)
elseif #options.calls > 0 then
  local calls = up.ring { size = "16M" }
  up.retprobe(options.calls, function(e)
    calls:emit { at = e.time, took = e.elapsed, pid = e.pid, tid = e.tid, comm = e.comm, func = e.func }
  end)
  calls:each(function(r) t:span(thread_of(r), r.func, r.at - r.took, r.at) end)
end

if #options.events > 0 then
  trace.each(options.events, function(event)
    t:instant(thread_of(event), event.name, event.time, options.args and args_of(event) or nil)
  end)
end

local written = options.marks and marks.draw(t)

up.at_exit(function()
  local told = written and written:finish() or ""
  if t:close() then
    local here = options.output:find "/" and "" or " in this folder"
    up.printf("wrote %s%s: %s, which ui.perfetto.dev draws\n", text.escape(options.output), here,
      text.plural(t.events, "event"))
  else
    up.printf("%s\n", t)
  end
  up.printf("%s", told)
  local net = up.probe_cost()
  if #options.calls > 0 and net then up.printf("Times of functions are %s.\n", net) end
end)
