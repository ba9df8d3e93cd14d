--[=[
mallocleak: which call stacks hold memory that was allocated and not freed?

  uplua mallocleak.lua [options] [interval [count]] -- PID ...
  uplua mallocleak.lua [options] [interval [count]] -- COMMAND [argument ...]

prints a report every interval (seconds, or "500ms", "2m"; default 10 s) and one at the end: on Ctrl-C, when the target
exits, or after count reports.

  -n, --top N        the N stacks that hold most (default 10; 0: all)
  --older AGE        only blocks that are at least this old, such as 5s; --gc AGE: the same
  --min-size BYTES   only blocks of at least this size
  --max-size BYTES   only blocks of at most this size
  --sample N         follows one block in N, chosen by address, and scales what they hold: estimates, at less cost
  --tree             stacks merged from the functions that allocate up, the heaviest way first: bytes, blocks and share
                     at each step
  --by WHAT          a table by the allocating function, module or line
  --wrapper NAME     also passes this function for the allocating one, as xmalloc and operator new; may be repeated, and
                     be a pattern, such as 'my_*alloc'
  --combined-only    one line per stack: bytes, blocks and functions; no ages
  --growth           only stacks that hold more from report to report, the fastest first
  --difference       what has changed since the report before
  --peak             at the end also what was held at the moment at which the most was
  -o FILE            the last report as a file, too: .pb.gz (pprof), .svg (a flame graph) or .folded; also --folded FILE
                     and --flame FILE
  --max N            room for N blocks at a time (default 1000000)
  --prove[=PASSES]   looks which of the blocks are lost: no pointer to them is left in the target's memory
  --stop[=TIME]      the same with the target stopped, for 100ms at most: one exact pass
  --fail-on-leak     ends with status 4 if a block is proven lost; --fail-on-suspect: if one is unreachable

  mallocleak: leaky (pid 4242), 30.0 s, 1,204,551 allocations, 1,204,322 frees

     1,048,576 bytes in 4 blocks, 86.2 %, 34.1 KB/s, oldest 29.1 s, newest 3.0 s
           session_new+0x21
           handle_request+0x6a
           main+0x8f

What counts: malloc, calloc, realloc, posix_memalign, free and their kin, C++'s operators new and delete, and what
jemalloc, tcmalloc and mimalloc have besides, in every module of the target that brings an allocator along. A realloc
that succeeds is one free and one allocation. Bytes are what the program asked for. Where one of these functions calls
another, only the outermost counts. What was allocated before uplua was there is not counted.

  $ uplua mallocleak.lua --older 5s 10 -- 4242
  $ uplua mallocleak.lua --prove -o leaks.svg -- ./server
--]=]
local up         = require "uplua"
local allocators = require "uplua.allocators"
local files      = require "uplua.stack_files"
local heap       = require "uplua.heap"
local text       = require "uplua.text"
local view       = require "uplua.view"

local options = up.args {
  "mallocleak.lua [options] [interval [count]] -- PID... or COMMAND",
  { "top,n",     "N",     "integer",  10,      "the N stacks that hold most; 0: all" },
  { "older",     "AGE",   "duration", 0,       "only blocks at least this old, such as 5s" },
  { "gc",        "AGE",   "duration", 0,       "the same: only what survived that long" },
  { "min-size",  "BYTES", "size",     false,   "only blocks of at least this size" },
  { "max-size",  "BYTES", "size",     false,   "only blocks of at most this size" },
  { "sample",    "N",     "integer",  1,       "follow one block in N, and scale what is held" },
  { "tree",                                    "stacks merged from the allocating functions up, the heaviest first" },
  { "by",        "WHAT",  "string",   false,   "a table by the allocating function, module or line" },
  { "wrapper",   "NAME",  "string",   false,   "also passes this function for the allocating one", several = true },
  { "combined-only",                           "one line per stack; no ages" },
  { "growth",                                  "only stacks that hold more and more, the fastest first" },
  { "difference",                              "what has changed since the report before" },
  { "peak",                                    "at the end also what was held when the most was" },
  files.output, files.folded, files.flame, files.before,
  { "max",       "N",     "integer",  1000000, "room for N blocks at a time" },
  { "prove", "[=PASSES]", "integer",  false,   "which blocks no pointer leads to, in at most 20 passes" },
  { "stop",  "[=TIME]",   "duration", false,   "the same with the target stopped, for 100ms at most" },
  { "fail-on-leak",                            "status 4 if a block is proven lost" },
  { "fail-on-suspect",                         "status 4 if a block is unreachable, proven or not" },
  arguments = 2,
}

local interval, message = text.duration(options[1] or "10s")
if not interval then up.args.fail("interval: %s", message) end
if interval < 1000 then up.args.fail("interval: a report every %s would never end", text.time(interval)) end
local count = tonumber(options[2] or math.huge)
if not count or count < 1 then up.args.fail("count: '%s' is not a number of reports", options[2]) end
if options.sample < 1 then up.args.fail("--sample: one block in %d cannot be followed", options.sample) end
local MIN, MAX = options.min_size or 0, options.max_size or 2 ^ 52
if MIN > MAX then up.args.fail("no block has at least %d and at most %d bytes", MIN, MAX) end
if options.max < 1 then up.args.fail("--max: there must be room for a block") end

-- The option NAME goes without the OTHERS.
local function choose(name, others)
  for _, other in ipairs(others) do
    if options[other] and options[other] ~= 0 then
      up.args.fail("--%s and --%s: choose one", name, (other:gsub("_", "-")))
    end
  end
end

local proves = options.prove or options.stop or options.fail_on_leak or options.fail_on_suspect
if proves and (options.sample > 1 or options.min_size or options.max_size) then
  up.args.fail("--prove needs all blocks: without --sample, --min-size and --max-size")
end
if proves then choose("prove", { "older", "gc", "growth", "difference", "combined_only" }) end
if options.prove == 0 then up.args.fail("--prove: nothing can be told after no pass") end
if options.growth then choose("growth", { "difference" }) end
if options.by and not ({ ["function"] = true, module = true, line = true })[options.by] then
  up.args.fail("--by: '%s' is none of function, module, line", options.by)
end
local shaped = options.tree and "tree" or options.by and "by"
if shaped then choose(shaped, { shaped == "tree" and "by" or "tree", "combined_only", "difference" }) end
if options.wrapper[1] and not shaped then up.args.fail("--wrapper is for --tree and --by") end
options.older = math.max(options.older, options.gc)
files.check(options)

-- Handlers ------------------------------------------------------------------------------------------------------------

local allocations, frees = up.count(), up.count()

local function is_of_size(e, address, bytes) return bytes >= MIN and bytes <= MAX end

local function warn(message) io.stderr:write("mallocleak: ", message, "\n") end

local trace, prove_last
up.at_stop(function() if prove_last then prove_last() end end) -- before the trace's own, which ends the following

trace = allocators.trace({
  blocks = options.max, option = "--max", stack = true, sample = options.sample, warn = warn,
  follow = (options.min_size or options.max_size) and is_of_size or nil,
  peak = options.peak, totals = options.pprof ~= nil,
}, {
  allocated = function() allocations:inc() end,
  freed = function() frees:inc() end,
})

-- The report ----------------------------------------------------------------------------------------------------------

local target = trace:target() -- while there is a process to ask
local reports = 0
local plural = text.plural

-- Estimates, where one block in N was followed.
local function scale(list)
  for _, h in ipairs(list) do h.bytes, h.blocks = h.bytes * options.sample, h.blocks * options.sample end
  return list
end

-- What is held at NOW, by stack, and the sum.
local function held(now)
  local list, sum = trace:held(now, options.older)
  scale { sum, sum.young }
  sum.gone = sum.gone * options.sample
  scale(sum.processes)
  return scale(list), sum
end

local function print_header(now)
  -- An address that is used again and again is in a sample always or never: calls cannot be scaled.
  up.printf("mallocleak: %s, %s, %s, %s%s\n", target, text.time(now - trace:began_at()),
    plural(allocations:get(), "allocation"), plural(frees:get(), "free"),
    options.sample > 1 and (" at one address in %s"):format(text.thousands(options.sample)) or "")
end

local function print_lines(lines)
  for _, line in ipairs(lines) do up.printf("%s\n", line) end
end

-- Bytes a second of BYTES that are held at NOW, since the counting began.
local function rate_of(bytes, now) return bytes * 1e9 / math.max(now - trace:began_at(), 1) end

local blocks = view.new {
  { "bytes", "Bytes", "bytes" }, { "blocks", "Blocks", "count" }, { "share", "Share", "percent" },
  { "rate", "Bytes a second", "bytes" }, { "oldest", "Oldest", "ns" }, { "newest", "Newest", "ns" },
  { "stack", "Stack" },
}

-- The first of LIST, of which all have the SUM, with ages at NOW, as data; false where the report is text.
local function write_data(list, sum, now)
  local rows = {}
  for i = 1, options.top == 0 and #list or math.min(options.top, #list) do
    local h = list[i]
    rows[i] = {
      bytes = h.bytes, blocks = h.blocks, share = 100 * h.bytes / math.max(sum.bytes, 1), rate = rate_of(h.bytes, now),
      oldest = now - h.oldest, newest = now - h.newest, stack = h.stack,
    }
  end
  return blocks:data(rows)
end

local growth, before = heap.growth(), nil
local print_shape = shaped and heap.printer { -- nil or false: one entry for each stack
  tree = options.tree, by = options.by or nil, top = options.top, wrappers = options.wrapper,
}

local function print_stacks(list, sum, now)
  if options.growth then list = growth:growing(list) end
  if print_shape and (list[1] or not options.growth) then
    return print_shape(list, nil, function(bytes) return rate_of(bytes, now) end)
  end
  if write_data(list, sum, now) then return end
  if options.growth and #list == 0 then up.printf("   no stack grows from report to report, as far as is known\n") end
  if not (options.difference and before) then
    return print_lines(heap.held(list, { top = options.top, combined = options.combined_only, now = now,
      growth = growth, sum = sum, since = trace:began_at() }))
  end
  local changes, sum = heap.difference(before, list)
  print_lines(heap.changes(changes, sum, { top = options.top }))
end

local function print_report(now)
  local list, sum = held(now)
  if reports > 0 then up.printf("\n") end
  reports = reports + 1
  growth:add(list, now)
  print_header(now)
  if options.sample > 1 then
    up.printf("   one block in %s was followed: bytes and blocks are estimates\n", text.thousands(options.sample))
  end
  up.printf("\n")
  print_stacks(list, sum, now)
  print_lines(heap.total(list, sum, { top = options.top, older = options.older }))
  before = list
  return list
end

local function print_peak()
  local list, sum = trace:peak()
  sum.bytes = sum.bytes * options.sample
  up.printf("\n   peak: %s, after %s\n\n", plural(sum.bytes, "byte"),
    text.time(math.max(sum.at - trace:began_at(), 0)))
  if print_shape then return print_shape(scale(list)) end
  print_lines(heap.held(scale(list), { top = options.top, combined = options.combined_only, sum = sum }))
end

-- Proofs --------------------------------------------------------------------------------------------------------------

local how = { passes = tonumber(options.prove), stop = options.stop == true and "100ms" or options.stop or nil }
local proof -- the last one that tells of a process

-- Takes OF for the proof unless its processes had ended by then and an earlier one knows of them.
local function take_proof(of)
  for _, process in ipairs(of.processes) do
    if not process.failed then proof = of end
  end
  proof = proof or of
end

local proven = view.new {
  { "proven", "Lost", "bytes" }, { "proven_blocks", "Lost blocks", "count" }, { "suspected", "Unreachable", "bytes" },
  { "suspected_blocks", "Unreachable blocks", "count" }, { "held", "Held", "bytes" },
  { "held_blocks", "Held blocks", "count" },
  { "young", "Young", "bytes" }, { "unknown", "Unknown", "bytes" }, { "stack", "Stack" },
}

local function print_proof(now)
  if reports > 0 then up.printf("\n") end
  reports = reports + 1
  print_header(now)
  if now - proof.ended > 1e9 then up.printf("   as it was %s before the end:\n", text.time(now - proof.ended)) end
  if not print_shape then
    if not proven:data(heap.rows(proof)) then print_lines(heap.lines(proof, options.top)) end
    return
  end
  print_lines(heap.known(proof))
  for _, part in ipairs(heap.parts(proof)) do print_shape(part.list, part.title) end
  print_lines(heap.sums(proof))
end

local function fail_on_leaks()
  local lost = proof.sum.proven.blocks
  if options.fail_on_suspect then lost = lost + proof.sum.suspected.blocks end
  if lost > 0 and (options.fail_on_leak or options.fail_on_suspect) then up.exit(4) end
end

local stopped

up.after(0, function() io.stderr:write("mallocleak: tracing ", text.escape(target), "; Ctrl-C ends\n") end)

up.every(interval, function()
  if reports + 1 >= count then return up.exit() end
  if not proves then return print_report(up.now()) end
  heap.prove(trace, how, function(of)
    take_proof(of)
    print_proof(up.now())
  end)
end)

if proves and up.target().command then heap.prove_end(trace, how, take_proof) end
prove_last = proves and function() take_proof(heap.prove_now(trace, how)) end
up.at_stop(function() stopped = up.now() end)

up.at_exit(function()
  local list
  if proves then
    print_proof(stopped)
    fail_on_leaks()
  else
    list = print_report(stopped)
  end
  if options.peak then print_peak() end
  for _, line in ipairs(trace:missing "--max") do up.printf("   %s\n", line) end
  list = list or held(stopped)
  files.write(options, heap.profile(list, options.pprof and scale(trace:totals()), proof))
end)
