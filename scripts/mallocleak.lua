--[=[
mallocleak: which call stacks hold memory that was allocated and not freed?

  uplua mallocleak.lua [options] [interval [count]] -- PID ...
  uplua mallocleak.lua [options] [interval [count]] -- COMMAND [argument ...]

prints a report every interval (seconds, or "500ms", "2m"; default 10 s) and one at the end: on Ctrl-C, when the target
exits, or after count reports.

  --top N            the N stacks that hold most (default 10; 0: all)
  --older AGE        only blocks that are at least this old, such as 5s
  --min-size BYTES   only blocks of at least this size
  --max-size BYTES   only blocks of at most this size
  --sample N         follows one block in N, chosen by address, and scales what they hold: estimates, at less cost
  --combined-only    one line per stack: bytes, blocks and functions; no ages
  --folded FILE      also writes the last report's bytes to FILE as folded stacks, for a flame graph
  --max N            room for N blocks at a time (default 1000000)

  mallocleak: leaky (pid 4242), 30.0 s, 1,204,551 allocations, 1,204,322 frees

     1,048,576 bytes in 4 blocks, oldest 29.1 s, newest 3.0 s
           session_new+0x21
           handle_request+0x6a
           main+0x8f

What counts: malloc, calloc, realloc, posix_memalign, free and their kin, C++'s operators new and delete, and what
jemalloc, tcmalloc and mimalloc have besides, in every module of the target that brings an allocator along. A realloc
that succeeds is one free and one allocation. Bytes are what the program asked for. Where one of these functions calls
another, only the outermost counts. What was allocated before uplua was there is not counted.
--]=]
local up         = require "uplua"
local allocators = require "uplua.allocators"
local file       = require "uplua.file"
local text       = require "uplua.text"

local options = up.args {
  "mallocleak.lua [options] [interval [count]] -- PID... or COMMAND",
  { "top",       "N",     "integer",  10,      "the N stacks that hold most; 0: all" },
  { "older",     "AGE",   "duration", 0,       "only blocks at least this old, such as 5s" },
  { "min-size",  "BYTES", "size",     false,   "only blocks of at least this size" },
  { "max-size",  "BYTES", "size",     false,   "only blocks of at most this size" },
  { "sample",    "N",     "integer",  1,       "follow one block in N, and scale what is held" },
  { "combined-only",                           "one line per stack; no ages" },
  { "folded",    "FILE",  "string",   false,   "write folded stacks, for a flame graph, to FILE" },
  { "max",       "N",     "integer",  1000000, "room for N blocks at a time" },
  arguments = 2,
}

local interval, message = text.duration(options[1] or "10s")
if not interval then up.args.fail("interval: %s", message) end
if interval < 1000 then up.args.fail("interval: a report every %s would never end", text.time(interval)) end
local count = tonumber(options[2] or math.huge)
if not count or count < 1 then up.args.fail("count: '%s' is not a number of reports", options[2]) end
if options.sample < 1 then up.args.fail("--sample: one block in %d cannot be followed", options.sample) end
if options.min_size and options.max_size and options.min_size > options.max_size then
  up.args.fail("no block has at least %d and at most %d bytes", options.min_size, options.max_size)
end
if options.max < 1 then up.args.fail("--max: there must be room for a block") end
if options.folded then -- what cannot be written is better known before the run
  local file, why = io.open(options.folded, "a")
  if not file then error("--folded: " .. why, 0) end
  file:close()
end

-- Handlers ------------------------------------------------------------------------------------------------------------

local allocations, frees = up.count(), up.count()

-- Only blocks of MIN to MAX bytes.
local function of_size(min, max)
  return function(e, address, bytes) return bytes >= min and bytes <= max end
end

local follow -- nil: all
if options.min_size or options.max_size then follow = of_size(options.min_size or 0, options.max_size or 2 ^ 52) end

local function warn(message) io.stderr:write("mallocleak: ", message, "\n") end

local trace = allocators.trace({
  blocks = options.max, stack = true, sample = options.sample, follow = follow, warn = warn,
}, {
  allocated = function() allocations:inc() end,
  freed = function() frees:inc() end,
})

-- The report ----------------------------------------------------------------------------------------------------------

local target = trace:target() -- while there is a process to ask
local reports = 0
local thousands, plural = text.thousands, text.plural

-- What is held at NOW, by stack, and the sum; estimates where one block in N was followed.
local function held(now)
  local list, sum = trace:held(now, options.older)
  local function scale(h) h.bytes, h.blocks = h.bytes * options.sample, h.blocks * options.sample end
  for _, h in ipairs(list) do scale(h) end
  for _, h in ipairs(sum.processes) do scale(h) end
  scale(sum)
  scale(sum.young)
  return list, sum
end

local function print_header(now)
  -- An address that is used again and again is in a sample always or never: calls cannot be scaled.
  up.printf("mallocleak: %s, %s, %s, %s%s\n", target, text.time(now - trace:began_at()),
    plural(allocations:get(), "allocation"), plural(frees:get(), "free"),
    options.sample > 1 and (" at one address in %s"):format(thousands(options.sample)) or "")
end

local INDENT = (" "):rep(9)

local function print_stack(h, now)
  local ages = "oldest " .. text.time(now - h.oldest)
  if h.blocks > 1 then ages = ages .. ", newest " .. text.time(now - h.newest) end
  up.printf("   %s in %s, %s\n%s\n\n", plural(h.bytes, "byte"), plural(h.blocks, "block"), ages,
    (h.name:gsub("%s*([^\n]+)", "\n" .. INDENT .. "%1"):sub(2)))
end

-- "zmalloc < dictExpand < main", as many whole names as fit into WIDTH columns.
local function one_line(stack, width)
  local names, line = {}, nil
  for name in stack:folded():gmatch "[^;]+" do table.insert(names, 1, name) end
  for i, name in ipairs(names) do
    local longer = line and line .. " < " .. name or name
    if text.width(longer) > width - (i < #names and 6 or 0) then return (line or name) .. " < ..." end
    line = longer
  end
  return line
end

local function print_line(h)
  up.printf("%15s %11s  %s\n", thousands(h.bytes), thousands(h.blocks), one_line(h.stack, 50))
end

-- How much more there is than the first N of LIST, whose elements are called ONE and MANY.
local function print_rest(list, n, indent, one, many)
  local bytes, blocks = 0, 0
  for i = n + 1, #list do bytes, blocks = bytes + list[i].bytes, blocks + list[i].blocks end
  if #list > n then
    up.printf("%sand %s with %s in %s\n", indent, plural(#list - n, one, many), plural(bytes, "byte"),
      plural(blocks, "block"))
  end
end

-- What each process holds, where there are several that hold something.
local function print_processes(list)
  local shown = options.top == 0 and #list or math.min(options.top, #list)
  for i = 1, #list > 1 and shown or 0 do
    local h = list[i]
    up.printf("      %s in %s: %s\n", plural(h.bytes, "byte"), plural(h.blocks, "block"), text.escape(h.name))
  end
  print_rest(list, shown, "      ", "more process", "more processes")
end

-- What the total does not have.
local function print_left_out(sum)
  local young, gone = sum.young, sum.gone * options.sample
  if young.blocks > 0 then
    up.printf("   left out: %s in %s that are younger than %s\n", plural(young.bytes, "byte"),
      plural(young.blocks, "block"), text.time(options.older))
  end
  if gone > 0 then up.printf("   %s gone with the program that executed this one\n", plural(gone, "block")) end
end

local function print_report(now)
  local list, sum = held(now)
  local shown = options.top == 0 and #list or math.min(options.top, #list)
  if reports > 0 then up.printf("\n") end
  reports = reports + 1
  print_header(now)
  if options.sample > 1 then
    up.printf("   one block in %s was followed: bytes and blocks are estimates\n", thousands(options.sample))
  end
  up.printf("\n")
  if options.combined_only and shown > 0 then up.printf("%15s %11s  %s\n", "bytes", "blocks", "stack") end
  for i = 1, shown do
    if options.combined_only then print_line(list[i]) else print_stack(list[i], now) end
  end
  if options.combined_only and shown > 0 then up.printf("\n") end
  print_rest(list, shown, "   ", "more stack")
  up.printf("   total %s in %s from %s\n", plural(sum.bytes, "byte"), plural(sum.blocks, "block"),
    plural(#list, "stack"))
  print_processes(sum.processes)
  print_left_out(sum)
  return list
end

-- One line per list of names, outermost first: the format of flamegraph.pl, speedscope and others.
local function write_folded(list)
  local lines = {}
  for _, h in ipairs(list) do
    lines[#lines + 1] = ("%s %s\n"):format(text.escape(h.stack:folded()), text.integer(h.bytes))
  end
  local written, why = file.write(options.folded, table.concat(lines))
  if not written then error("--folded: cannot write " .. why, 0) end
end

local stopped

up.after(0, function() io.stderr:write("mallocleak: tracing ", text.escape(target), "; Ctrl-C ends\n") end)

up.every(interval, function()
  if reports + 1 >= count then return up.exit() end
  print_report(up.now())
end)

up.at_stop(function() stopped = up.now() end)

up.at_exit(function()
  local list = print_report(stopped)
  for _, line in ipairs(trace:missing "--max") do up.printf("   %s\n", line) end
  if options.folded then write_folded(list) end
end)
