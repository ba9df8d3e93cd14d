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
  --sample N         follows one block in N, chosen by address, and scales the numbers: estimates, at less cost
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
local up        = require "uplua"
local bit       = require "bit"
local allocator = require "uplua.allocator"
local core      = require "uplua.core"
local file      = require "uplua.file"
local space     = require "uplua.space"
local text      = require "uplua.text"

local options = up.args {
  "mallocleak.lua [options] [interval [count]] -- PID... or COMMAND",
  { "top",       "N",     "integer",  10,      "the N stacks that hold most; 0: all" },
  { "older",     "AGE",   "duration", 0,       "only blocks at least this old, such as 5s" },
  { "min-size",  "BYTES", "size",     false,   "only blocks of at least this size" },
  { "max-size",  "BYTES", "size",     false,   "only blocks of at most this size" },
  { "sample",    "N",     "integer",  1,       "follow one block in N, and scale the numbers" },
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
if #core.target.pids() == 0 then up.args.fail("whose memory? give PIDs or a command after --") end
if options.folded then -- what cannot be written is better known before the run
  local file, why = io.open(options.folded, "a")
  if not file then error("--folded: " .. why, 0) end
  file:close()
end

local pids = core.target.pids()
local given = require "uplua.options"
local narrowed = given.tids or given.comms or given.cgroup -- threads of one memory may be traced and others not

-- Objects that handlers and report share ------------------------------------------------------------------------------

local live        = up.hash { max = options.max } -- key of an address → block
local moving      = up.hash { max = 16384 }       -- key of a thread → block that a realloc under way may free
local inside      = up.hash { max = 16384 }       -- thread → depth of allocator functions that call each other
local under_way   = up.var(0)                     -- sum of these depths: 0 saves the others a lookup
local counting    = up.var(core.target.command() and 1 or 0) -- 1 while all probes are there; a command waits for them
local allocations = up.count()
local frees       = up.count()
local old_frees   = up.count()                    -- of blocks that are not in live
local copy_frees  = up.count()                    -- of blocks that a process has from the one that it forked away from

space.track()

-- Handlers: which blocks are followed ---------------------------------------------------------------------------------

-- The key of an address, or of a thread. Processes have their own addresses.
local function key(e, number) return number end
if space.several() then
  function key(e, number) return { space.of(e), number } end
end

local function follow(e, address, bytes)
  live[key(e, address)] = { bytes = bytes, stack = e:ustack(), at = e.time }
end

-- Only blocks of MIN to MAX bytes.
local function of_size(min, max, inner)
  return function(e, address, bytes)
    if bytes >= min and bytes <= max then inner(e, address, bytes) end
  end
end

-- One block in N by Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4). The address alone decides, so
-- that an allocation and its free agree, and no stack is favoured for its rhythm.
local function one_in(n, inner)
  return function(e, address, bytes)
    if bit.rshift(up.u64(address) * 0x9e3779b97f4a7c15ULL, 32) % n == 0 then inner(e, address, bytes) end
  end
end

local filtered = options.min_size or options.max_size
if filtered then follow = of_size(options.min_size or 0, options.max_size or 2 ^ 52, follow) end
if options.sample > 1 then follow = one_in(options.sample, follow) end

local function allocated(e, address, bytes)
  allocations:inc()
  follow(e, address, bytes)
end

-- Handlers: allocator functions that call each other ------------------------------------------------------------------

-- At entry: true for the outermost of the thread's functions.
local function enter(e)
  under_way:add(1)
  if inside[e.tid] then
    inside[e.tid] = inside[e.tid] + 1
    return false
  end
  inside[e.tid] = 1
  return true
end

-- At return: true for the one for which enter was true. A call that began before the counting did is never it.
local function leave(e)
  local depth = inside[e.tid]
  if not depth then return false end
  under_way:add(-1)
  if depth > 1 then
    inside[e.tid] = depth - 1
    return false
  end
  inside[e.tid] = nil
  return true
end

-- For functions that call none of the others, at entry or return: true if none of the others has called them.
local function alone(e)
  return under_way:get() == 0 or not inside[e.tid]
end

-- A thread that is killed in an allocator function leaves its number to others.
up.raw_tracepoint("sched_process_exit", function(e)
  local depth = inside[e.tid]
  if depth then
    under_way:add(-depth)
    inside[e.tid] = nil
  end
end)

local function never() return false end

-- Handlers: the functions ---------------------------------------------------------------------------------------------

-- A free of a block of which nobody knows where it comes from.
local function frees_unknown(e) old_frees:inc() end
if space.several() then
  function frees_unknown(e)
    if space.is_copy(space.of(e)) then copy_frees:inc() else old_frees:inc() end
  end
end

-- BYTES gives the size that was asked for (uplua.allocator), OUTERMOST is alone or leave.
local function allocates(bytes, outermost)
  return function(e)
    if counting:get() ~= 0 and outermost(e) and e.ret ~= 0 then allocated(e, e.ret, bytes(e)) end
  end
end

-- posix_memalign(void **block, size_t alignment, size_t bytes) returns an errno.
local function allocates_to_pointer(bytes, outermost)
  return function(e)
    if counting:get() ~= 0 and outermost(e) and up.i32(e.ret) == 0 then
      allocated(e, up.i64(up.read_u64(e.arg0)), bytes(e))
    end
  end
end

-- OUTERMOST is alone or enter; OWN tells whether the allocator itself calls: when a thread ends, glibc frees once more
-- what the thread's cache of freed blocks holds.
local function releases(block, outermost, own)
  return function(e)
    if counting:get() ~= 0 and outermost(e) and block(e) ~= 0 then
      if live[key(e, block(e))] then
        live[key(e, block(e))] = nil
        frees:inc()
      elseif not own(e) then
        frees:inc()
        frees_unknown(e)
      end
    end
  end
end

local function enters(e)
  if counting:get() ~= 0 then enter(e) end
end

local function leaves(e)
  if counting:get() ~= 0 then leave(e) end
end

-- Before realloc returns, another thread may already be given the old block's address: so the old block is put aside
-- at entry, and put back if the call failed.
local function reallocates_from(block)
  return function(e)
    if counting:get() ~= 0 and enter(e) then
      local old = live[key(e, block(e))]
      if old then
        moving[key(e, e.tid)] = up.copy(old)
        live[key(e, block(e))] = nil
      end
    end
  end
end

-- The block that realloc was given, at ADDRESS, is free, if it was given any.
local function moved(e, address)
  if address ~= 0 then
    frees:inc()
    if not moving[key(e, e.tid)] then frees_unknown(e) end
  end
end

local function returned(e) return e.ret end

local function reallocates_to(row)
  local block, bytes, to, lost = row.block, row.bytes, row.to or returned, row.lost or never
  return function(e)
    if counting:get() ~= 0 and leave(e) then
      if to(e) ~= 0 then
        moved(e, block(e))
        allocated(e, to(e), bytes(e))
      elseif lost(e) then
        moved(e, block(e))
      else
        local old = moving[key(e, e.tid)]
        if old then live[key(e, block(e))] = up.copy(old) end
      end
      moving[key(e, e.tid)] = nil
    end
  end
end

-- Probes --------------------------------------------------------------------------------------------------------------

local follow_module -- function(module): declares its probes
local came_later = false -- a module with an allocator
local modules = up.modules_defining(allocator.signs, function(module)
  came_later = true
  follow_module(module)
end)
if #modules == 0 then
  error("nothing in the target defines malloc: it uses no allocator in C, or is linked statically and stripped", 0)
end

-- glibc's realloc calls its malloc and free, its other functions call none of these. Other libraries, and one allocator
-- on top of another, may call any from any: then every function tells when it begins and ends. So do those of modules
-- that come later.
local simple = false
if #modules == 1 then
  local functions, _, offsets = allocator.in_module(modules[1])
  simple = allocator.is_glibc(functions, offsets)
end

-- A function of the event of a module's free: true if its caller lies between the first and the last of the C library's
-- of FUNCTIONS, which begin at OFFSETS.
local function called_from_within(functions, offsets)
  local low, high, free = math.huge, 0, offsets.free
  for _, names in ipairs(functions) do
    for _, name in ipairs(names.c) do low, high = math.min(low, offsets[name]), math.max(high, offsets[name]) end
  end
  if not free then return never end
  low, high = low - free, high - free
  return function(e)
    local distance = up.i64(e.caller) - up.i64(e.ip)
    return distance > low and distance < high
  end
end

-- The handlers at entry and return, either may be nil, of the functions of ROW.
local function handlers_of(row, own)
  local outermost, begins = simple and alone or leave, not simple and enters or nil
  if row.does == "allocates" then return begins, allocates(row.bytes, outermost) end
  if row.does == "allocates to" then return begins, allocates_to_pointer(row.bytes, outermost) end
  if row.does == "reallocates" then return reallocates_from(row.block), reallocates_to(row) end
  return releases(row.block, simple and alone or enter, own), not simple and leaves or nil
end

-- C++'s operators are the allocator's where the same module defines malloc: elsewhere, as in libstdc++, they call that.
-- So do they in a program that has glibc's malloc and libstdc++'s operators in itself.
local function families_of(offsets)
  if simple then return { "c" } end
  return offsets.malloc and { "c", "cxx", "own" } or { "own" }
end

function follow_module(module)
  local functions, others, offsets = allocator.in_module(module)
  local families, own = families_of(offsets), called_from_within(functions, offsets)
  local throws = false
  for _, names in ipairs(functions) do
    local specs = {}
    for _, family in ipairs(families) do
      for _, name in ipairs(names[family]) do specs[#specs + 1] = module .. ":" .. name end
    end
    local at_entry, at_return = handlers_of(names.row, own)
    if #specs > 0 and at_entry then up.uprobe(specs, at_entry) end
    if #specs > 0 and at_return then up.uretprobe(specs, { throws = false }, at_return) end
    throws = throws or #specs > 0 and names.row.throws and core.probe.resolve(specs, nil, true):list()[1].unwound
  end
  local name = text.escape(module:match "[^/]*$")
  if throws then
    io.stderr:write("mallocleak: a program that catches the std::bad_alloc of ", name,
      "'s operator new ends instead, while that is traced\n")
  end
  if #others > 0 then
    io.stderr:write(("mallocleak: %s also has %s: their own allocations and frees are not followed\n"):format(
      name, table.concat(others, ", ")))
  end
end

for _, module in ipairs(modules) do follow_module(module) end
simple = false

-- The report ----------------------------------------------------------------------------------------------------------

local started = up.now()
local reports = 0

local thousands, plural = text.thousands, text.plural

-- Adds the blocks of MAP that are from LATEST or before to HELD: stack → { bytes, blocks, oldest and newest (times of
-- allocation) }. Adds to SUM how many are younger, how many are gone with the program that their process has executed
-- another one from, and what is held by address space.
local function add_blocks(map, held, latest, sum)
  local left, spaces = space.left(), sum.spaces
  for key, block in map:pairs() do
    local at, of = block.at, space.several() and tonumber(key[1]) or pids[1]
    if at < (left[of] or 0) then
      sum.gone = sum.gone + 1
    elseif at <= latest then
      local h = held[block.stack]
      if h then
        h.bytes, h.blocks = h.bytes + block.bytes, h.blocks + 1
        if at < h.oldest then h.oldest = at end
        if at > h.newest then h.newest = at end
      else
        held[block.stack] = { bytes = block.bytes, blocks = 1, oldest = at, newest = at }
      end
      spaces[of] = spaces[of] or { bytes = 0, blocks = 0, of = of }
      spaces[of].bytes, spaces[of].blocks = spaces[of].bytes + block.bytes, spaces[of].blocks + 1
    elseif at <= sum.now then
      sum.young.bytes, sum.young.blocks = sum.young.bytes + block.bytes, sum.young.blocks + 1
    end
  end
end

local function merge(into, h)
  into.bytes, into.blocks = into.bytes + h.bytes, into.blocks + h.blocks
  if h.oldest < into.oldest then into.oldest = h.oldest end
  if h.newest > into.newest then into.newest = h.newest end
end

-- The most bytes first.
local function by_size(a, b)
  if a.bytes ~= b.bytes then return a.bytes > b.bytes end
  if a.blocks ~= b.blocks then return a.blocks > b.blocks end
  return a.name < b.name
end

-- The address spaces of SUM as a list, as large as they are estimated to be.
local function list_spaces(sum)
  local list = {}
  for of, h in pairs(sum.spaces) do
    list[#list + 1] = { bytes = h.bytes * options.sample, blocks = h.blocks * options.sample, name = space.name(of) }
  end
  table.sort(list, by_size)
  return list
end

-- The blocks that are held at NOW: a list by stack, stacks with equal names as one, the most bytes first; and the sum
-- of all.
local function held_by_stack(now)
  local held, by_name, list = {}, {}, {}
  local sum = { now = now, bytes = 0, blocks = 0, oldest = now, newest = 0, gone = 0, spaces = {} }
  sum.young = { bytes = 0, blocks = 0 }
  for _, map in ipairs { live, moving } do add_blocks(map, held, now - options.older, sum) end
  for stack, h in pairs(held) do
    h.bytes, h.blocks = h.bytes * options.sample, h.blocks * options.sample
    merge(sum, h)
    local name = stack:key()
    if by_name[name] then
      merge(by_name[name], h)
    else
      h.stack, h.name, by_name[name] = stack, name, h
      list[#list + 1] = h
    end
  end
  table.sort(list, by_size)
  return list, sum
end

-- The name of process PID, as ps gives it; a command that is about to start has that of its file.
local function process_name(pid)
  local command = core.target.command()
  if command then return command:match "[^/]*$" end
  local file = io.open(("/proc/%d/comm"):format(pid))
  local name = file and file:read "*l"
  if file then file:close() end
  return name or "?"
end

-- "redis-server (pid 4242)", read while there is a process to ask.
local target_names = {}
for i, pid in ipairs(pids) do target_names[i] = ("%s (pid %d)"):format(process_name(pid), pid) end
local target_name = table.concat(target_names, ", ")

local function print_header(now)
  up.printf("mallocleak: %s, %s, %s, %s\n", target_name, text.time(now - started),
    plural(allocations:get(), "allocation"), plural(frees:get(), "free"))
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
local function print_spaces(list)
  local shown = options.top == 0 and #list or math.min(options.top, #list)
  for i = 1, #list > 1 and shown or 0 do
    local one = list[i]
    up.printf("      %s in %s: %s\n", plural(one.bytes, "byte"), plural(one.blocks, "block"), text.escape(one.name))
  end
  print_rest(list, shown, "      ", "more process", "more processes")
end

-- What the total does not have.
local function print_left_out(sum)
  local young, gone = sum.young, sum.gone * options.sample
  if young.blocks > 0 then
    up.printf("   left out: %s in %s that are younger than %s\n", plural(young.bytes * options.sample, "byte"),
      plural(young.blocks * options.sample, "block"), text.time(options.older))
  end
  if gone > 0 then up.printf("   %s gone with the program that executed this one\n", plural(gone, "block")) end
end

local function print_report(now)
  local list, sum = held_by_stack(now)
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
  print_spaces(list_spaces(sum))
  print_left_out(sum)
  return list
end

-- How many blocks found no room in live.
local function without_room()
  for _, entry in ipairs(up.ledger()) do
    if entry[1]:find "^'live' is full" then return entry[2] end
  end
  return 0
end

-- Whose blocks the other frees were of: all that it may be. Where only some blocks are followed, nobody knows. A
-- command had no block before, but of an allocator that came later.
local function print_other_frees()
  if filtered or options.sample > 1 then return end
  local full, whose = without_room() > 0, {}
  if full then whose[1] = "found no room (--max)" end
  if space.sharing() > 0 then whose[#whose + 1] = "are of a process that was not followed" end
  if narrowed then whose[#whose + 1] = "are of a thread that is not traced" end
  if #whose == 0 or came_later or not core.target.command() then table.insert(whose, 1, "were there before") end
  local old, copied = old_frees:get(), copy_frees:get()
  if old > 0 then up.printf("   %s of blocks that %s\n", plural(old, "free"), table.concat(whose, ", or ")) end
  if copied > 0 then
    up.printf("   %s of copies that forked processes have of blocks of their parents%s\n", plural(copied, "free"),
      full and ", or of blocks that found no room (--max)" or "")
  end
end

-- Processes whose calls are missing, since they share memory that is not theirs alone.
local function print_sharing()
  local count = space.sharing()
  if count > 0 then
    up.printf("   %s not followed: what %s allocated and freed in this memory is missing (--follow has it)\n",
      plural(count, "process that shares this memory was", "processes that share this memory were"),
      count == 1 and "it has" or "they have")
  end
end

local function print_narrowed()
  if not narrowed then return end
  up.printf("   allocations and frees of threads that --tid, --comm or --cgroup leaves out are missing\n")
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

up.after(0, function()
  space.settle()
  started = core.target.command() and space.began() or up.now()
  counting:set(1)
  io.stderr:write("mallocleak: tracing ", text.escape(target_name), "; Ctrl-C ends\n")
end)

up.every(interval, function()
  if reports + 1 >= count then return up.exit() end
  print_report(up.now())
end)

up.at_stop(function()
  counting:set(0)
  stopped = up.now()
end)

up.at_exit(function()
  started = core.target.command() and space.began() or started
  local list = print_report(stopped)
  print_other_frees()
  print_sharing()
  print_narrowed()
  if options.folded then write_folded(list) end
end)
