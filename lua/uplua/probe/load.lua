-- Handlers, compiled together and loaded: one BPF object for each setup, and one compiler for all setups of a run.
local ffi      = require "ffi"
local capture  = require "uplua.compile.capture"
local contract = require "uplua.contract"
local core     = require "uplua.core"
local filter   = require "uplua.target.filter"
local handler  = require "uplua.probe.handler"
local loop     = require "uplua.base.loop"
local map      = require "uplua.base.map"
local object   = require "uplua.objects.object"
local options  = require "uplua.options"
local output   = require "uplua.objects.output"
local results  = require "uplua.probe.results"
local run      = require "uplua.base.run"
local timing   = require "uplua.base.timing"

local C = contract.C

local load = {}

local kept = run.part(function()
  return {
    bound = {},     -- the numbers of the shared objects that setups have made, as keys
    compiler = nil, -- made when the first handler is compiled
    declared = 0,   -- shared objects that it knows
    setups = {},    -- what has been loaded, one userdata per setup
    unwinding = {}, -- the library's maps of unwind tables, which all setups share: name → fd
  }
end)

-- Capacities: hashes take entries, rings bytes.
local DEFAULT_ENTRIES, DEFAULT_RING = 65536, 4 * 2 ^ 20

-- What stands for the kernel's trampoline where code is only looked at, so that it is the same on each machine.
local ANY_TRAMPOLINE = "0xffffffff81000000"

-- What probes take, where handlers take it off e.elapsed.
local COSTS = contract.COST_COUNTERS

-- What has been loaded, one userdata per setup.
function load.setups() return kept().setups end

-- True if handlers walk the program's stacks, and not just the kernel's.
function load.walks_stacks() return next(kept().unwinding) ~= nil end

-- Tells the compiler of the shared objects that are new to it, and of what the script has written into any.
local function tell_objects(mine)
  local compiler = mine.compiler
  for id = mine.declared + 1, #object.all() do
    local o = object.all()[id]
    local kind, given, state = rawget(o, "kind"), rawget(o, "options") or {}, object.state(o)
    local max = given.max or DEFAULT_ENTRIES
    if kind == "ring" or kind == "output" or kind == "recorder" then max = given.size or DEFAULT_RING end
    compiler:add_object(kind, max, state.buckets, given.key, given.value, (state.delay or 0) > 0,
                        state.ordered or false, given.order or false, object.advice(o), state.exported or false)
    mine.declared = id
  end
  for id, o in ipairs(object.all()) do
    local told = {}
    for _, entry in ipairs(rawget(o, "queued") or {}) do
      local at = entry.at
      if at and not told[at] then compiler:given(id - 1, entry[1], entry[2], at.short_src, at.currentline) end
      told[at or o] = true
    end
  end
end

-- PROBES in groups that are loaded together: those of probes that are loaded already, of which new ones use the states,
-- and the others.
function load.groups(probes)
  local groups, of = {}, {}
  for _, probe in ipairs(probes) do
    local origin = probe.handle and probe.handle.origin or "new"
    if not of[origin] then
      of[origin] = {}
      groups[#groups + 1] = of[origin]
    end
    table.insert(of[origin], probe)
  end
  return groups
end

-- Numbers the states of PROBES, one of these groups. Returns how many there are, and the descriptor of their map; -1:
-- it is to be made.
local function number_states(probes)
  local count, seen = 0, {}
  for _, probe in ipairs(probes) do
    local of = probe.handle
    if of and of.origin then return of.origin.count, of.origin.fd end
    if of and not seen[of] then
      seen[of], of.number = true, count
      count = count + 1
    end
  end
  return count, -1
end

-- What the compiler needs to know of PROBES.
local function describe(probes)
  local states, states_fd = number_states(probes)
  local handlers, returns, trampoline = {}, false, nil
  for i, probe in ipairs(probes) do
    handlers[i] = handler.describe(probe)
    returns = returns or probe.provider.followed or false
    trampoline = trampoline or probe.trampoline
  end
  local description = filter.describe()
  description.handlers, description.returns, description.reuse = handlers, returns, kept().unwinding
  description.states, description.states_fd = states, states_fd
  description.explained, description.stacks = options.explain, options.stacks
  description.trampoline = trampoline or ANY_TRAMPOLINE
  return description
end

-- Gets ready to compile PROBES: the compiler, and their description.
local function prepare(probes)
  local mine = kept()
  mine.compiler = mine.compiler or core.setup.new()
  capture.begin()
  mine.compiler:begin()
  output.declare()
  tell_objects(mine)
  timing.mark "compile"
  return mine.compiler, describe(probes)
end

-- The programs that no handler has: the raw tracepoint that each is attached to, and what it is for.
local OWN = {
  [contract.CALLS_END_PROGRAM] = { "sched_process_exit",
    "the end of a thread, to count the calls of return handlers that it is in" },
  [contract.EXECUTED_PROGRAM] = { "sched_process_exec",
    "the start of a program, so that stacks are walked and named by its mappings" },
  [contract.EXECUTED_END_PROGRAM] = { "sched_process_exit",
    "the end of a process, whose number may be given to another one" },
}

-- What stands for the probe of the program NAME, one of these.
local function own(name)
  local of = OWN[name]
  return require "uplua.probe.providers.raw_tracepoint".own(of[1], of[2])
end

-- --emit and --explain: compiles PROBES, writes the object and prints what is in it, as far as asked for.
function load.compile_only(probes)
  local compiler, description = prepare(probes)
  local compiled = compiler:compile(description, options.emit)
  if options.check then
    kept().checked = #probes
  elseif options.explain then
    io.write(require "uplua.compile.explain".report(compiled, probes, own, results.explain))
  end
end

-- How many handlers --check has compiled.
function load.checked() return kept().checked or 0 end

-- The report of --explain on PROBES, which are attached and stay as they are.
function load.explained(probes)
  local before = options.explain
  options.explain = true
  local ok, result = pcall(function()
    local compiler, description = prepare(probes)
    return require "uplua.compile.explain".report(compiler:compile(description), probes, own, results.explain)
  end)
  options.explain = before
  if not ok then error(result, 0) end
  return result
end

-- Warns of variables that the script has changed since a handler took them as constants.
local function check_captured()
  for _, warning in ipairs(capture.changed()) do loop.warn(warning) end
end

-- Adds to LIST the program NAME, which no handler has, if LOADED has it: if the handlers need it.
local function add_own(list, loaded, name)
  local fd = loaded:program(name)
  if fd then list[#list + 1] = { probe = own(name), program = { fd = fd } } end
end

-- Tells shared objects of their maps in LOADED: FOUND has a description of each, by its id.
local function bind_objects(loaded, found)
  local turns = ffi.cast("uint64_t *", (loaded:address(contract.TURN_COUNTERS)))
  for id, description in pairs(found) do
    local o = object.all()[id]
    if description.turn then description.turn = turns + description.turn end
    if not rawget(o, "name") then rawset(o, "name", description.name or false) end
    o:bind(description)
  end
end

-- Tells the probes of PROBES where their states are, which LOADED has made.
local function bind_states(loaded, probes)
  local fd, origin = loaded:map(contract.PROBE_STATES), nil
  for _, probe in ipairs(probes) do
    local of = probe.handle
    if of and not of.origin then
      if not origin then
        local opened = map.open(fd)
        local first = C.map_var_open(opened)
        if first == nil then error("cannot map the states of probes: " .. map.reason(-ffi.errno()), 0) end
        origin = { fd = fd, states = ffi.cast("struct uplua_probe_state *", first),
                   count = opened.value_size / ffi.sizeof "struct uplua_probe_state" }
      end
      of:bind(origin)
    end
  end
  return origin ~= nil
end

-- Has stacks read and walked, if the handlers of LOADED take any; PIDS: the target's processes. Adds to LIST what that
-- needs to be attached.
local function bind_stacks(loaded, list, pids)
  local stacks, executed = loaded:map(contract.uplua_stacks), loaded:map(contract.uplua_unwind_executed)
  local kernel = loaded:map(contract.uplua_unwind_kernel)
  if kernel and not executed then core.unwind.lay_out(kernel) end -- of a sample its place alone is asked for
  if not stacks and not executed then return end
  local stack, unwinding = require "uplua.stack.stack", kept().unwinding
  if stacks then
    stack.bind(stacks)
    stack.bind(loaded:map(contract.uplua_stacks_reserve))
  end
  local own_code = loaded:map(contract.uplua_own_code)
  if own_code then core.kernel.write_own(own_code) end
  local walked = loaded:map(stack.TABLES[1]) -- the program's stack, not just the kernel's
  if executed and not next(unwinding) then
    if walked then
      for _, name in ipairs(stack.TABLES) do unwinding[name] = loaded:map(name) end
      stack.unwind(unwinding, filter.is_open(), core.target.command())
    else -- up.sym alone
      core.unwind.lay_out(kernel)
    end
    -- the ends of processes are seen before any of the programs is noted
    add_own(list, loaded, contract.EXECUTED_END_PROGRAM)
    add_own(list, loaded, contract.EXECUTED_PROGRAM)
  end
  stack.follow(filter.is_open() and {} or pids, core.target.command())
end

-- Compiles and loads PROBES, and tells shared objects of their maps. Returns a list for uplua.probe.attach.
function load.handlers(probes)
  local compiler, description = prepare(probes)
  local overhead = package.loaded["uplua.probe.overhead"]
  if overhead then overhead.begin() end
  local loaded, programs, objects, link, unknown = compiler:load(description)
  timing.mark "loaded"
  local setups, list = load.setups(), {}
  setups[#setups + 1] = loaded
  local costs = loaded:address(COSTS)
  if costs then require "uplua.probe.overhead".keep(costs, link, unknown) end
  output.watch(loaded)
  capture.keep()
  loop.hook { check = check_captured }
  bind_objects(loaded, objects)
  local keeps = bind_states(loaded, probes)
  bind_stacks(loaded, list, description.pids)
  add_own(list, loaded, contract.CALLS_END_PROGRAM)
  for i, probe in ipairs(probes) do
    local program = programs[i]
    if program.reads_result then results.warn(probe) end
    list[#list + 1] = { probe = probe, program = program, number = i - 1,
                        paired = (program.entry_fd or program.session) and true }
  end
  local setup = { loaded = loaded, items = list, costs = costs,
                  keeps = keeps or loaded:map(contract.uplua_stacks) ~= nil }
  for _, item in ipairs(list) do item.setup = setup end
  local bound = kept().bound
  for id in pairs(objects) do
    setup.keeps = setup.keeps or not bound[id]
    bound[id] = true
  end
  if not setup.keeps then -- it may go before the run ends, and objects read turns in it
    setup.turns = {}
    for id, description in pairs(objects) do setup.turns[id] = description.turn end
  end
  return list
end

-- ITEMS of such a list are detached for good: frees their setups where nothing else needs what is in these.
function load.retire(items)
  for _, item in ipairs(items) do
    local setup = item.setup
    item.gone = true
    local left, others = setup.keeps or not setup.loaded, {}
    for _, other in ipairs(setup.items) do
      left = left or other.number and not other.gone
      if not other.number then others[#others + 1] = other end
    end
    if not left then
      require "uplua.probe.attach".detach(others)
      if setup.costs then require "uplua.probe.overhead".forget(setup.costs) end
      output.forget(setup.loaded)
      for id, turn in pairs(setup.turns) do object.all()[id]:leave(turn) end
      require "uplua.probe.ledger".keep(setup)
      local setups = load.setups()
      for i = #setups, 1, -1 do
        if setups[i] == setup.loaded then table.remove(setups, i) end
      end
      setup.loaded:free()
      setup.loaded = nil
    end
  end
end

-- What handler's program ITEM of such a list has counted: a struct probe_counts.
function load.counts(item)
  local sum = ffi.new "struct uplua_probe_counts"
  local fd = item.number and item.setup.loaded and item.setup.loaded:map(contract.PROBE_COUNTS)
  if not fd then return sum end
  local counts = map.open(fd)
  local values, key = counts:value_buffer(), counts:key_buffer()
  ffi.cast("uint32_t *", key)[0] = item.number
  if not counts:lookup(key, values) then return sum end
  for cpu = 0, counts.cpus - 1 do
    local one = ffi.cast("struct uplua_probe_counts *", values + cpu * counts.value_stride)
    sum.hits, sum.entered, sum.skipped = sum.hits + one.hits, sum.entered + one.entered, sum.skipped + one.skipped
    sum.others = sum.others + one.others
  end
  return sum
end

return load
