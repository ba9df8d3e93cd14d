--[=[
kmemprof: who makes the kernel allocate memory, how much, and from which slabs?

  uplua kmemprof.lua [options] [-- PID ... or COMMAND]

counts what the kernel's allocators give out (kmalloc, the slabs of kmem_cache, whole pages), and prints at the end for
each slab how many blocks and bytes there were, and a second; and the stacks that took most bytes.

  -b, --by WHAT          by WHAT and slab: process, thread, cgroup, container, cpu, or an expression of the event
  -i, --interval TIME    prints the slabs each TIME, too
  -n, --top N            the N slabs and stacks with most bytes (default 10; 0: all)
  -o, --output FILE      by its suffix a flame graph (.svg), folded stacks (.folded), or a profile for pprof (.pb.gz)
      --folded FILE      writes all stacks to FILE with their bytes, a line each
      --flame FILE       draws all as a flame graph (SVG)
      --before FILE      with --flame: draws what differs from FILE, another run's --folded

The pages that slabs are made of are pages, too. kmemleak.lua tells what is not freed again.

  $ uplua --duration 10s kmemprof.lua --by process
--]=]
local up     = require "uplua"
local by     = require "uplua.by"
local files  = require "uplua.stack_files"
local kmem   = require "uplua.kmem"
local stacks = require "uplua.stacks"
local text   = require "uplua.text"
local view   = require "uplua.view"

local options = up.args {
  "kmemprof.lua [options] [-- PID ... or COMMAND]",
  by.option,
  { "interval,i", "TIME", "duration", false, "print the slabs each TIME, too", least = "10ms" },
  { "top,n",      "N",    "integer",  10,    "the N slabs and stacks with most bytes; 0: all" },
  files.output, files.folded, files.flame, files.before,
  arguments = 0,
}
files.check(options)

local bytes, blocks = up.sum(), up.count()
local by_stack = up.sum()

local who = by.new(options.by)
local function whose(e) return 0 end
if who then whose = who.key end

kmem.trace({ slabs = true, pages = true }, { allocated = function(e, _, size, name)
  local key = { name, whose(e) }
  bytes[key]:add(size)
  blocks[key]:inc()
  by_stack[e:stack()]:add(size)
end })

local slabs = view.new {
  who and who.columns, { "name", "Slab" }, { "blocks", "Blocks", "count" }, { "bytes", "Bytes", "bytes" },
  { "rate", "Bytes a second", "bytes" }, by = "bytes", top = options.top,
}

local since = nil
up.at_start(function() since = up.now() end)

up.report(options.interval, function()
  local rows, now = {}, up.now()
  local counted = blocks:take()
  for key, size in bytes:take():pairs() do
    local row = { name = key[1], bytes = size, blocks = counted:get(key) or 0,
                  rate = math.floor(tonumber(size) / math.max(1, now - since) * 1e9) }
    rows[#rows + 1] = who and who:fill(row, key[2]) or row
  end
  since = now
  slabs:print(rows)
end)

up.at_exit(function()
  local rows, sum = stacks.rows(by_stack)
  up.printf("\n")
  local shown = stacks.print(rows, options.top, function(row) return ("%12s"):format(text.bytes(row.number)) end)
  up.printf("%s in %s\n", text.bytes(sum), stacks.told(rows, shown, "largest"))
  files.write(options, stacks.named(rows), { title = "The kernel's allocations", unit = "bytes" })
end)
