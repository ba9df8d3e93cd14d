--[=[
stackcount: by which calls does the program get to a function?

  uplua stackcount.lua [options] SPEC ... [-- PID ... or COMMAND]

counts the stacks at the hits of all probes that the specs name, and prints them at the end with their numbers, the most
frequent first.

  -b, --by WHAT          by WHAT and stack: process, thread, cgroup, container, cpu, or an expression of the event
                         such as e.uid
  -p, --by-process       as --by process
      --key [NAME=]EXPR  by the value of EXPR, too, an expression of the event e, under the name NAME; may be repeated
  -w, --where EXPR       only hits for which EXPR is true: 'e.arg0 > 4096'; behind a spec, of that one alone
  -n, --top N            the N most frequent stacks, functions or lines (default 20; 0: all)
  -f, --functions        a table of functions instead: self, the hits in the function itself; total, also those in what
                         it had called
  -l, --lines            each frame with its line of the source; with --functions by line
  -c, --callers FUNC     who calls FUNC, as a tree
  -i, --interval TIME    a table for each TIME; on a terminal it lives, as in top.lua
  -U, --user             the program's part of stacks only
  -K, --kernel           the kernel's part only
  -o, --output FILE      by its suffix a flame graph (.svg), folded stacks (.folded), or a profile for pprof (.pb.gz);
                         of any other name: the report
      --folded FILE      writes all stacks to FILE, a line each, for other tools
      --flame FILE       draws all as a flame graph (SVG)
      --diff FILE        by function what differs from FILE, which another run has written with --folded or -o; with
                         -o changes.svg as a flame graph, too
      --before FILE      with --flame: draws what differs from FILE, which another run has written with --folded

A spec is what --list prints and uprobe takes: libc:malloc, kprobe:'vfs_*', tracepoint:sched:sched_switch,
syscall:openat.

  $ uplua stackcount.lua libc:malloc -- redis-server
--]=]
local up     = require "uplua"
local by     = require "uplua.by"
local report = require "uplua.stack_report"
local specs  = require "uplua.specs"
local text   = require "uplua.text"

local options = up.args {
  "stackcount.lua [options] SPEC ... [-- PID ... or COMMAND]",
  by.option,
  { "by-process,p",                           "as --by process" },
  { "key", "[NAME=]EXPR", "string",   false,  "by the value of EXPR, too; may be repeated", several = true },
  { "sum", "[NAME=]EXPR", "string",   false,  "with the sum of EXPR's values; may be repeated", several = true },
  specs.where,
  report.options "stacks",
}
if #options == 0 then up.args.fail "whose stacks? Give specs, such as libc:malloc" end
report.check(options)

local hits = up.count()
local who = by.new(options.by or options.by_process and "process", { keys = options.key })
local whose = who and who.key
local stack_of = report.stack(options)

local sums = by.sums(options.sum)
local add = sums.add

local function key(e) return stack_of(e) end
if who then function key(e) return { whose(e), stack_of(e) } end end

specs.probe(options, function(e)
  local k = key(e)
  add(e, k)
  hits[k]:inc()
end)

report.run(options, {
  numbers = hits, who = who, sums = sums, noun = "hit", title = table.concat(options, " "), file_unit = "hits",
  show = function(row) return ("%12s"):format(text.thousands(row.number)) end,
})
