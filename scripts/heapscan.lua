--[=[
heapscan: which chunks of glibc's heap does nothing lead to?

  uplua heapscan.lua [options] -- PID ...

Looks at processes in which nobody has counted allocations: at the chunks of glibc's heap, by its own headers, and at
what leads to them. The process is stopped for that, for a second at most, and never written to. Chunks that are free
are told apart from those that are given away, also where a thread's cache or a fast bin keeps them.

  --stop TIME      stops a process for at most so long (default 1s)
  --top N          the N sizes with most bytes that are lost (default 10; 0: all)
  --fail-on-leak   ends with status 4 if a chunk is lost

  heapscan: server (pid 4242), stopped for 3.1 ms
     1 arena, 2 chunks that are mapped by themselves, 4 caches of threads
     given away: 14,544 bytes in 202 chunks
     free: 120,000 bytes in 2 chunks, in fast bins: none, in caches of threads: 504 bytes in 7 chunks

             bytes      chunks  size   and below
             1,840          23    80   3,680 bytes in 46 chunks

     lost: 1,840 bytes in 23 chunks directly, 3,680 bytes in 46 chunks that only these lead to
     who has allocated them is not known: mallocleak.lua --prove knows that of blocks that come from now on

What counts as a pointer, and what cannot be seen, is as with mallocleak.lua --prove.

  $ uplua heapscan.lua -- 4242
--]=]
local up   = require "uplua"
local heap = require "uplua.heap"
local text = require "uplua.text"
local view = require "uplua.view"

local options = up.args {
  "heapscan.lua [options] -- PID...",
  { "stop", "TIME", "duration", "1s", "stop a process for at most so long" },
  { "top",  "N",    "integer",  10,   "the N sizes with most bytes that are lost; 0: all" },
  { "fail-on-leak",                   "status 4 if a chunk is lost" },
  arguments = 0,
}

local target = up.target()
if #(target.pids or {}) == 0 or target.command then up.args.fail("whose heap? give PIDs after --") end

local plural = text.plural

local function sum_text(sum)
  if sum.blocks == 0 then return "none" end
  return ("%s in %s"):format(plural(sum.bytes, "byte"), plural(sum.blocks, "chunk"))
end

local function name_of(pid)
  local file = io.open(("/proc/%d/comm"):format(pid))
  local name = file and file:read "*l" or "?"
  if file then file:close() end
  return text.escape(name)
end

local function print_sizes(sizes)
  if #sizes == 0 then return end
  up.printf("\n%15s %11s %9s   %s\n", "bytes", "chunks", "size", "and below")
  local shown = options.top == 0 and #sizes or math.min(options.top, #sizes)
  for i = 1, shown do
    local one = sizes[i]
    up.printf("%15s %11s %9s   %s\n", text.thousands(one.direct.bytes), text.thousands(one.direct.blocks),
      text.thousands(one.size), sum_text(one.below))
  end
  if #sizes > shown then up.printf("   and %s\n", plural(#sizes - shown, "more size")) end
  up.printf("\n")
end

local function print_result(pid, found)
  up.printf("heapscan: %s (pid %d), stopped for %s\n", name_of(pid), pid, text.time(found.stopped_for))
  up.printf("   %s, %s, %s\n", plural(found.arenas, "arena"),
    plural(found.mapped, "chunk that is mapped by itself", "chunks that are mapped by themselves"),
    plural(found.caches, "cache of a thread", "caches of threads"))
  up.printf("   given away: %s\n", sum_text(found.used))
  up.printf("   free: %s, in fast bins: %s, in caches of threads: %s\n", sum_text(found.free), sum_text(found.fast),
    sum_text(found.cached))
  if found.why then return up.printf("   nothing is known of what is lost: %s\n", found.why) end
  print_sizes(found.sizes)
  if found.direct.blocks == 0 then return up.printf("   nothing is lost\n") end
  up.printf("   lost: %s directly, %s that only these lead to\n", sum_text(found.direct), sum_text(found.below))
  up.printf("   who has allocated them is not known: mallocleak.lua --prove knows that of blocks that come from now "
    .. "on\n")
end

local sizes = view.new {
  { "pid", "Process", "number" }, { "size", "Size", "count" }, { "bytes", "Bytes", "bytes" },
  { "chunks", "Chunks", "count" }, { "below_bytes", "Bytes below", "bytes" },
  { "below_chunks", "Chunks below", "count" },
}

local rows, status = {}, 0
for i, pid in ipairs(target.pids) do
  local found, why = heap.scan(pid, { stop = options.stop })
  if not found then
    io.stderr:write("heapscan: ", why, "\n")
    status = 1
  else
    if not view.is_data() then
      if i > 1 then up.printf("\n") end
      print_result(pid, found)
    end
    for _, one in ipairs(found.sizes) do
      rows[#rows + 1] = { pid = pid, size = one.size, bytes = one.direct.bytes, chunks = one.direct.blocks,
        below_bytes = one.below.bytes, below_chunks = one.below.blocks }
    end
    if found.why then status = 1 end
    if options.fail_on_leak and found.direct.blocks > 0 and status == 0 then status = 4 end
  end
end
sizes:data(rows)
up.exit(status)
