--[=[
kmemleak: which memory does the kernel allocate and not free, and where?

  uplua kmemleak.lua [options] [-- PID ... or COMMAND]

follows what the kernel's allocators give out and take back (kmalloc, the slabs of kmem_cache, with --pages whole
pages), and prints at the end what is still held, by the stack that allocated it, the most bytes first.

  -P, --pages            whole pages, in place of slabs
      --older TIME       only what is held for TIME at least (default 1s): other memory may be in use
      --by-slab          by slab, without stacks
  -i, --interval TIME    prints it each TIME, too
      --max N            follows N blocks at most (default 1000000)
  -n, --top N            the N largest (default 10; 0: all)

With a target, what is allocated while the kernel works for it counts; whoever frees it.

A free that is not seen makes a block look like a leak. The last lines tell how many may be: the kernel passes over
probes that are hit in a program of another one; objects that are freed in bulk (packets of the network) are told to no
probe. A block whose address is given out again was freed, seen or not, and is no leak here.

  $ uplua --duration 60s kmemleak.lua --older 10s
--]=]
local up   = require "uplua"
local kmem = require "uplua.kmem"
local text = require "uplua.text"
local view = require "uplua.view"

local options = up.args {
  "kmemleak.lua [options] [-- PID ... or COMMAND]",
  { "pages,P",                                 "whole pages, in place of slabs" },
  { "older",      "TIME", "duration", "1s",    "only what is held for TIME at least" },
  { "by-slab",                                 "by slab, without stacks" },
  { "interval,i", "TIME", "duration", false,   "print it each TIME, too", least = "10ms" },
  { "max",        "N",    "integer",  1000000, "follow N blocks at most", least = 1 },
  { "top,n",      "N",    "integer",  10,      "the N largest; 0: all" },
  arguments = 0,
}

local blocks = kmem.follow { pages = options.pages, max = options.max, option = "--max", stacks = not options.by_slab }

local slabs = view.new {
  { "bytes", "Bytes", "bytes" }, { "blocks", "Blocks", "count" }, { "oldest", "Oldest", "ns" }, { "name", "Slab" },
  not options.by_slab and { "stack", "Allocated in" }, by = "bytes", top = options.top,
}

local function print_stacks(list)
  table.sort(list, function(a, b) return a.bytes < b.bytes end)
  for i = options.top > 0 and math.max(1, #list - options.top + 1) or 1, #list do
    local group = list[i]
    up.printf("%s\n%12s  in %s of %s, the oldest for %s\n\n", group.stack, text.bytes(group.bytes),
      text.plural(group.blocks, "block"), group.name, text.time(group.oldest))
  end
end

up.report(options.interval, function()
  local list, sum, held = blocks:held(options.older, options.by_slab and "name" or "stack")
  if not slabs:data(list) then
    if options.by_slab then slabs:print(list) else print_stacks(list) end
  end
  local counts = blocks:counts()
  up.printf("%s in %s held for %s or more; %s allocated, of which %s freed\n%s", text.bytes(sum),
    text.plural(held, "block"), text.time(options.older), text.plural(counts.allocated, "block"),
    text.thousands(counts.freed), blocks:losses())
end)
