-- What the target allocates, frees and resizes, each call once, whichever allocator it uses and whichever of its
-- functions calls another one.
--
--   local allocators = require "uplua.allocators"
--   local sizes = up.hist()
--   allocators.trace { allocated = function(e, address, bytes) sizes:add(bytes) end }
--
-- The functions are handlers: the compiler inlines them, and what one does not use of its arguments costs nothing.
--   allocated(e, address, bytes, allocator)
--   freed(e, address, block, allocator)
--   resized(e, old, block, address, bytes, allocator)
-- e.func tells the function, allocator is the file that brings it along: "libc.so.6". A realloc is resized if it is
-- given a block and succeeds; without a handler for that it is freed and allocated. With the option blocks, block is
-- { bytes, at, stack } of what is free now, nil if its allocation was not seen; without the option it is nil.
local args         = require "uplua.args"
local bit          = require "bit"
local blocks       = require "uplua.allocators.blocks"
local capture      = require "uplua.compile.capture"
local core         = require "uplua.core"
local functions    = require "uplua.allocators.functions"
local loop         = require "uplua.base.loop"
local nesting      = require "uplua.allocators.nesting"
local option_table = require "uplua.base.option_table"
local pairing      = require "uplua.allocators.pairing"
local report       = require "uplua.allocators.report"
local requests     = require "uplua.allocators.requests"
local space        = require "uplua.allocators.space"
local text         = require "uplua.base.text"
local up           = require "uplua"

local allocators = {}

local check_function = option_table.check("a function", function(value)
  return type(value) == "function" and value or nil
end)

local OPTIONS = {
  blocks = option_table.positive, stack = option_table.boolean, follow = check_function, warn = check_function,
  sample = option_table.positive, option = option_table.text, peak = option_table.boolean,
  totals = option_table.boolean,
}

-- True for the addresses of one block in N, by Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4). The
-- address alone decides, so that an allocation and its free agree, and no stack is favoured for its rhythm.
local function one_in(n)
  if n == 1 then return nil end
  return capture.inlined(function(address)
    return bit.rshift(up.u64(address) * 0x9e3779b97f4a7c15ULL, 32) % n == 0
  end)
end

local HANDLERS = { allocated = check_function, freed = check_function, resized = check_function }

local never = capture.inlined(function() return false end)

-- A function of the event of a module's free: true if its caller lies between the first and the last of the C library's
-- functions of FOUND, which begin at OFFSETS.
local function called_from_within(found, offsets)
  local low, high, free = math.huge, 0, offsets.free
  for _, names in ipairs(found) do
    for _, name in ipairs(names.c) do low, high = math.min(low, offsets[name]), math.max(high, offsets[name]) end
  end
  if not free then return never end
  low, high = low - free, high - free
  return capture.inlined(function(e)
    local distance = up.i64(e.caller) - up.i64(e.ip)
    return distance > low and distance < high
  end)
end

-- C++'s operators are the allocator's where the same module defines malloc: elsewhere, as in libstdc++, they call that.
-- So do they in a program that has glibc's malloc and libstdc++'s operators in itself.
local function families_of(offsets, only_glibc)
  if only_glibc then return { "c" } end
  return offsets.malloc and { "c", "cxx", "own" } or { "own" }
end

-- Probes the functions of ROW that MODULE defines by NAMES, and of which NESTED tells whether they call others. True if
-- C++'s std::bad_alloc may leave one.
local function probe_row(module, names, families, paired, nested)
  local throws = false
  for _, is_nested in ipairs { false, true } do
    local specs = {}
    for _, family in ipairs(families) do
      for _, name in ipairs(names[family]) do
        if (nested[name] or false) == is_nested then specs[#specs + 1] = module .. ":" .. name end
      end
    end
    if #specs > 0 then
      local at_entry, at_return = paired:handlers(names.row, is_nested)
      if at_entry then up.uprobe(specs, at_entry) end
      if at_return then up.uretprobe(specs, { throws = false }, at_return) end
      throws = throws or names.row.throws and core.probe.resolve(specs, nil, true):list()[1].unwound
    end
  end
  return throws
end

-- Declares the probes of the allocator in MODULE, for the trace STATE. SEVERAL: it is not the only one.
local function probe_module(state, module, several)
  local found, others, offsets = functions.in_module(module)
  local name = text.escape(module:match "[^/]*$")
  local families = families_of(offsets, not several and functions.is_glibc(found, offsets))
  local nested, far = functions.calls(module, found, offsets, several)
  local paired = pairing.new(state, name, called_from_within(found, offsets))
  local throws = false
  for _, names in ipairs(found) do
    throws = probe_row(module, names, families, paired, nested) or throws
  end
  if #far > 0 then nesting.count_far(module, far) end
  state.follows_operators[module] = families[2] ~= nil
  if throws then
    state.warn(("if %s's operator new runs out of memory while it is traced, the program ends, even one that " ..
      "catches the std::bad_alloc of it: no option avoids that; a program that has memory enough is not affected")
      :format(name))
  end
  if #others > 0 then
    state.warn(("%s also has %s: their own allocations and frees are not followed")
      :format(name, table.concat(others, ", ")))
  end
end

-- Has what C++'s operators with an alignment are asked for kept, in modules whose operators are not followed.
local function keep_requests(state)
  local function probe(module)
    if not state.follows_operators[module] then state.requests.probe(module) end
  end
  for _, module in ipairs(up.modules_defining(requests.operators, probe)) do probe(module) end
end

-- All probes come and go one after the other: nothing counts but while all are there. A command waits for them.
local function count_while_attached(state)
  up.after(0, function()
    space.settle()
    state.began = up.now()
    state.counting:set(1)
  end)
  up.at_stop(function() state.counting:set(0) end)
end

-- trace([options,] handlers) → a trace (uplua.allocators.report): has the functions of HANDLERS, { allocated, freed,
-- resized }, each may be missing, called for all allocators of the target, also those that it loads later. Options:
--   blocks  follows this many blocks at a time, so that freed and resized get them and the trace can list them
--   stack   of a block, where it was allocated
--   follow  follow(e, address, bytes), for handlers: true for a block to be followed; without it, all are
--   sample  N: knows of one block in N only, chosen by its address, at a lower price: as if there were no others
--   peak    keeps what was held when the most was; totals: all that was allocated; both by stack, for the trace
--   warn    warn(text): gets what a user has to know of an allocator; otherwise uplua prints it
-- Ends the script with a message if there is no target. Raises that nothing in it is an allocator.
function allocators.trace(options, handlers)
  if handlers == nil then options, handlers = nil, options end
  options = option_table.read("allocators.trace", options, OPTIONS)
  handlers = option_table.read("allocators.trace: handlers", handlers, HANDLERS)
  if not options.blocks and not next(handlers) then
    error("allocators.trace: give it a function for what is allocated, freed or resized", 2)
  end
  if up.target().cpus then
    error("allocators.trace: without --cpu: calls nest, and blocks are freed, on whichever CPU the thread is then", 2)
  end
  if #core.target.pids() == 0 then args.fail("whose memory? give PIDs or a command after --") end
  if not options.blocks and (options.stack or options.follow) then
    error("allocators.trace: without blocks none is followed: give blocks = 1000000, or so", 2)
  end
  if not options.stack and (options.peak or options.totals) then
    error("allocators.trace: peak and totals are by stack: give stack = true, too", 2)
  end
  space.track()
  local state = {
    handlers = handlers, warn = options.warn or loop.warn, calls = nesting.track(),
    blocks = options.blocks and blocks.track(options), follow = options.follow,
    with_stack = options.stack, sample = options.sample or 1, sampled = one_in(options.sample or 1),
    listens_to_frees = options.blocks or handlers.freed or handlers.resized,
    counting = up.var(core.target.command() and 1 or 0), began = up.now(), came_later = false,
    follows_operators = {}, -- modules whose operators new and delete are, as keys
  }
  state.requests = requests.track(state.counting)
  local modules = up.modules_defining(functions.signs, function(module)
    state.came_later = true
    probe_module(state, module, true)
  end)
  if #modules == 0 then
    error("nothing in the target defines malloc: it uses no allocator in C, or is linked statically and stripped", 0)
  end
  for _, module in ipairs(modules) do probe_module(state, module, #modules > 1) end
  keep_requests(state)
  count_while_attached(state)
  return report.new(state)
end

return allocators
