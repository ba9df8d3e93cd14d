--[=[
hrtimer: what runs on a CPU while it has too many, or too few, of some events?

  uplua hrtimer.lua [options] SPEC ... [-- PID ... or COMMAND]

looks at each CPU at the end of each slice of time, and takes a sample where the specs were hit at least --above times
in it on that CPU, or fewer than --below times. It prints at the end the stacks that were sampled most often.

      --above N          where there were N hits or more
      --below N          where there were fewer than N
      --slice TIME       how long a slice is (default 10ms, from 1ms)
  -n, --top N            the N stacks (default 20; 0: all)
  -o, --output FILE      by its suffix a flame graph (.svg), folded stacks (.folded), or a profile for pprof (.pb.gz)
      --folded FILE      writes all stacks to FILE, a line each
      --flame FILE       draws all as a flame graph (SVG)
      --before FILE      with --flame: draws what differs from FILE, another run's --folded

With a target, hits are those of the target, and samples are taken while it runs. A CPU without work is not sampled.

  $ uplua --duration 10s hrtimer.lua --below 1 tracepoint:sched:sched_switch
--]=]
local up     = require "uplua"
local files  = require "uplua.stack_files"
local stacks = require "uplua.stacks"
local text   = require "uplua.text"

local options = up.args {
  "hrtimer.lua [options] SPEC ... [-- PID ... or COMMAND]",
  { "above",   "N",    "integer",  false,  "where there were N hits or more" },
  { "below",   "N",    "integer",  false,  "where there were fewer than N" },
  { "slice",   "TIME", "duration", "10ms", "how long a slice is", least = "1ms", most = "1s" },
  { "top,n",   "N",    "integer",  20,     "the N stacks; 0: all" },
  files.output, files.folded, files.flame, files.before,
}
if #options == 0 then up.args.fail "what is to be counted? Give specs, such as tracepoint:sched:sched_switch" end
if not options.above == not options.below then up.args.fail "give --above N or --below N: one of them" end
files.check(options)

local MOST_CPUS = 4096
local hits    = up.array { max = MOST_CPUS } -- CPU → hits so far
local before  = up.array { max = MOST_CPUS } -- … at the end of the slice before
local sampled, slices = up.count(), up.count()

local least, most = options.above or 0, options.below and options.below - 1 or 2 ^ 53

up.probe(options, function(e) hits[e.cpu] = (hits[e.cpu] or 0) + 1 end)

up.profile(math.floor(1e9 / options.slice + 0.5), function(e)
  local now = hits[e.cpu] or 0
  local n = now - (before[e.cpu] or 0)
  before[e.cpu] = now
  slices:inc()
  if n >= least and n <= most then sampled[e:stack()]:inc() end
end)

up.at_exit(function()
  local rows, sum = stacks.rows(sampled)
  local shown = stacks.print(rows, options.top, function(row)
    return ("%12s  of %s"):format(text.thousands(row.number), text.plural(sum, "sample"))
  end)
  up.printf("%s of %s had %s hits: samples in %s\n", text.thousands(sum), text.plural(slices:get(), "slice"),
    options.above and ("%d or more"):format(options.above) or ("fewer than %d"):format(options.below),
    stacks.told(rows, shown, "most frequent"))
  files.write(options, stacks.named(rows), { title = "Slices", unit = "samples" })
end)
