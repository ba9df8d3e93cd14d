--[=[
stackcount: by which calls does the program get to a function?

  uplua stackcount.lua [options] SPEC ... [-- PID ... or COMMAND]

counts the stacks at the hits of all probes that the specs name, and prints them at the end with their numbers, the most
frequent first.

  -n, --top N            the N most frequent stacks (default 20; 0: all)
  -u, --user             the program's part of stacks only
  -k, --kernel           the kernel's part only
  -p, --by-process       by process and stack
      --folded FILE      writes all stacks to FILE, a line each, for other tools
      --flame FILE       draws all as a flame graph (SVG)
      --before FILE      with --flame: draws what differs from FILE, which another run has written with --folded

A spec is what --list prints and uprobe takes: libc:malloc, kprobe:'vfs_*', tracepoint:sched:sched_switch,
syscall:openat.

  $ uplua stackcount.lua libc:malloc -- redis-server
--]=]
local up     = require "uplua"
local files  = require "uplua.stack_files"
local stacks = require "uplua.stacks"
local text   = require "uplua.text"

local options = up.args {
  "stackcount.lua [options] SPEC ... [-- PID ... or COMMAND]",
  { "top,n",        "N",    "integer", 20,    "the N most frequent stacks; 0: all" },
  { "user,u",                                 "the program's part of stacks only" },
  { "kernel,k",                               "the kernel's part only" },
  { "by-process,p",                           "by process and stack" },
  files.folded, files.flame, files.before,
}
if #options == 0 then up.args.fail "whose stacks? Give specs, such as libc:malloc" end
if options.user and options.kernel then up.args.fail "--user and --kernel together leave nothing" end
files.check(options)

local hits = up.count()

local function stack_of(e) return e:stack() end
if options.user then function stack_of(e) return e:ustack() end end
if options.kernel then function stack_of(e) return e:kstack() end end

local function count(e) hits[stack_of(e)]:inc() end
if options.by_process then function count(e) hits[{ e.comm, e.pid, stack_of(e) }]:inc() end end

up.probe(options, count)

local function process_of(key) return ("%s (pid %d)"):format(key[1], key[2]) end

up.at_exit(function()
  local rows, sum = stacks.rows(hits, options.by_process and process_of)
  local shown = stacks.print(rows, options.top, function(row) return ("%12s"):format(text.thousands(row.number)) end)
  up.printf("%s in %s\n", text.plural(sum, "hit"), stacks.told(rows, shown, "most frequent"))
  files.write(options, stacks.named(rows), { title = table.concat(options, " "), unit = "hits" })
end)
