--[=[
profile: where does the CPU time go?

  uplua profile.lua [options] [-- PID ... or COMMAND]

looks 99 times a second at each CPU that is not idle, and prints at the end the functions that were seen most often:
self, where the CPU itself was in the function; total, also where it was in what the function had called.

  -F, --hertz N          so many samples a second on each CPU (default 99)
  -e, --event WHAT       samples of another event than time: page-faults, cycles:u, cache-misses:10000 (one in so many),
                         cpu-clock@999 (so many a second), or a spec of any kind: tracepoint:sched:sched_switch
  -I, --instructions     by instruction, with its line and, on x86_64, what it does
  -b, --by WHAT          by process, thread, cgroup, container, cpu, an expression of the event such as e.uid, or by
                         nothing else: stack (default process)
  -n, --top N            the N functions, lines or stacks that were seen most often (default 20; 0: all);
                         of --callers the first N lines (default: all)
  -l, --lines            by line of the source, where debug information tells; with --stacks each frame with its line
  -c, --callers FUNC     who calls FUNC, as a tree
  -s, --stacks           whole stacks
  -i, --interval TIME    a table for each TIME; on a terminal it lives, as in top.lua
  -U, --user             samples in programs alone: what they had the kernel do is left out, and said at the end
  -K, --kernel           samples in the kernel alone, without the programs' part of stacks
  -o, --output FILE      by its suffix a flame graph (.svg), folded stacks (.folded), or a profile for pprof (.pb.gz);
                         of any other name: the report
      --folded FILE      writes all stacks to FILE, a line each, for other tools
      --flame FILE       draws all as a flame graph (SVG)
      --diff FILE        by function what differs from FILE, which another run has written with --folded or -o; with
                         -o changes.svg as a flame graph, too
      --before FILE      with --flame: draws what differs from FILE, which another run has written with --folded

Ends on Ctrl-C, when the target exits, or after --duration.

  $ uplua --duration 10s profile.lua --flame cpu.svg
  $ uplua --duration 10s profile.lua --folded monday.folded -- 4242
  $ uplua --duration 10s profile.lua --before monday.folded --flame changes.svg -- 4243
--]=]
local up     = require "uplua"
local by     = require "uplua.by"
local report = require "uplua.stack_report"
local specs  = require "uplua.specs"
local text   = require "uplua.text"

local options = up.args {
  "profile.lua [options] [-- PID ... or COMMAND]",
  { "hertz,F", "N",    "integer", 99,        "samples a second on each CPU", least = 1, most = 100000 },
  { "event,e", "WHAT", "string",  false,     "samples of another event: page-faults, cache-misses, any spec" },
  { "instructions,I",                        "by instruction" },
  { "by,b",    "WHAT", "string",  "process", "by process, thread, cgroup, container, cpu, stack or an expression" },
  report.options "functions",
  arguments = 0,
}
report.check(options)

local who = options.by ~= "stack" and by.new(options.by) or nil
local samples, others = up.count(), up.count() -- others: what --user or --kernel leave out

local stack_of = report.stack(options)
local whose = who and who.key
local function key(e) return stack_of(e) end
if who then function key(e) return { whose(e), stack_of(e) } end end

-- The kernel's addresses are negative as handlers compute. A probe's hit is wherever the probe is.
local sampled = options.event and specs.sampled(options.event, options.hertz)
local is_sample = sampled or not options.event
local function wanted(e) return true end
if is_sample and options.user then function wanted(e) return up.i64(e.ip) >= 0 end end
if is_sample and options.kernel then function wanted(e) return up.i64(e.ip) < 0 end end

local function sample(e)
  if wanted(e) then samples[key(e)]:inc() else others:inc() end
end

-- Events of software are all seen; of what the CPU counts so many a second, unless it is said how often.
if options.event then up.probe(sampled or options.event, sample) else up.profile(options.hertz, sample) end

up.metric("profile_samples", samples, {
  profile = { type = is_sample and "samples" or "hits", unit = "count" }, help = "for /profile of uplua --serve",
})
report.run(options, {
  numbers = samples, others = others, other = options.user and "sample in the kernel" or "sample in programs",
  who = who, noun = is_sample and "sample" or "hit",
  hertz = not options.event and options.hertz or nil,
  show = function(row, sum) return ("%8s  %.1f %%"):format(text.thousands(row.number), 100 * row.number / sum) end,
  title = options.event or "CPU time",
})
