-- Probes that wait for the end of a setup (the main chunk, a line at the prompt), and those that are attached.
-- up.uprobe(spec, handler) and up.uretprobe(spec, handler) declare; commit() compiles all handlers together, loads and
-- attaches them.
local ffi                = require "ffi"
local core               = require "uplua.core"
local capture            = require "uplua.compile.capture"
local changed_files      = require "uplua.target.changed_files"
local claims             = require "uplua.probe.claims"
local lost_returns       = require "uplua.probe.lost_returns"
local loop               = require "uplua.base.loop"
local object             = require "uplua.objects.object"
local options            = require "uplua.options"
local output             = require "uplua.objects.output"
local text               = require "uplua.text"
local timing             = require "uplua.base.timing"
local unmapped_libraries = require "uplua.target.unmapped_libraries"
local late_modules       = require "uplua.target.late_modules"
local filter             = require "uplua.target.filter"

local setup = {}

local pending = {}     -- declared and not yet attached: { kind, spec, handler, attach, sites }
local guests = {}      -- BPF objects brought along that are to be loaded (uplua.run.guest)
local attached = {}    -- links
local of_entries = {}  -- those of them that are the entries of system calls, for handlers at their returns, as keys
local passed_over = {} -- programs that the kernel may pass over: { fd, text } each
local late = {}        -- what setups have loaded for a command that has not mapped it yet: { probe, program }
local setups = {}      -- what has been loaded, one userdata per setup
local compiler         -- made when the first handler is compiled
local unwinding = {}   -- the library's maps of unwind tables, which all setups share: name → fd
local declared = 0     -- shared objects that the compiler knows

-- Capacities: hashes take entries, rings bytes.
local DEFAULT_ENTRIES, DEFAULT_RING = 65536, 4 * 2 ^ 20

-- Attaches a probe of functions at SITES.
local function attach_function(sites)
  return function(probe, program, link)
    local refused
    local function at(kind, fd, cookie)
      local ok, result = pcall(core.probe.attach, kind, fd, cookie, sites)
      if not ok then error(probe.kind .. " " .. result, 0) end
      link(result)
      refused = refused or table.concat(result:refused(), ", ")
    end
    local by_instruction = probe.kind == "uretprobe" and (probe.of_go or probe.by_instruction)
    local kind = program.session and "session" or probe.kind ~= "uretprobe" and "entry" or
                 by_instruction and "exit" or "return"
    -- Of programs at one instruction the kernel runs the last one first: where a function's first instruction is its
    -- last one, too, the entry has to be seen before the return.
    if by_instruction then at(kind, program.fd, program.cookie) end
    if program.entry_fd then at("entry", program.entry_fd, program.entry_cookie) end
    if not by_instruction then at(kind, program.fd, program.cookie) end
    if refused ~= "" then
      loop.warn(("%s %s: the kernel puts no probe on the first instruction of %s")
        :format(probe.kind, probe.spec, refused))
    end
  end
end

-- What --cpu means something to; the rest is hit wherever its thread runs.
local BY_CPU = { profile = true, perf = true, interval = true }

-- Raises what is wrong with the options or the handler of a probe: KIND and SPEC name it. LEVEL: the user's line, as
-- seen from the caller. KNOWN: the options that there are, as keys.
function setup.check(kind, spec, given, handler, level, known)
  local name, at = kind .. " " .. spec, (level or 2) + 1
  if type(handler) ~= "function" then error(name .. ": the last argument is the handler, a function", at) end
  if debug.getinfo(handler, "S").what == "C" then
    error(name .. ": the handler must be written in Lua: a function of C has no bytecode to compile", at)
  end
  if type(given) ~= "table" then error(name .. ": options are a table", at) end
  for option in pairs(given) do
    if not (known and known[option]) then error(("%s: unknown option '%s'"):format(kind, tostring(option)), at) end
  end
  if options.cpus and not BY_CPU[kind] then
    error(name .. ": --cpu is for what samples and counts: profile, perf, interval and counter", at)
  end
end

-- Where the probe of a function's entry may slide to (probe/spec/slide.h), by the option `slide`.
local SLIDES = { [true] = "exact", [false] = "off", lossy = "lossy" }

-- How the return of a function is seen, by the option `returns`: the kernel replaces the return address, or at its
-- return instructions.
local RETURNS = { address = true, instructions = true }

-- Warns of what the patterns of a probe mean and leave out; --explain lists it.
local function warn_skipped(kind, name, skipped)
  local reasons, counts = {}, {}
  for _, one in ipairs(skipped) do
    if not counts[one.why] then reasons[#reasons + 1] = one.why end
    counts[one.why] = (counts[one.why] or 0) + 1
  end
  for i, why in ipairs(reasons) do reasons[i] = ("%d: %s"):format(counts[why], why) end
  if #reasons == 0 or options.explain then return end
  loop.warn(("%s %s: %d functions are left out (--explain lists them)\n  %s")
    :format(kind, name, #skipped, table.concat(reasons, "\n  ")))
end

-- How many bits of e.ret count of functions that return RESULT (sites:result), negative if signed: 0 where all of them
-- do, or nobody knows.
function setup.result_bits(result)
  local of_word = result and result.place ~= "nowhere" and result.kind ~= "pointer" and math.abs(result.bits) < 64
  return of_word and result.bits or 0
end

-- CLAIM: to the places of the list that they are of (uplua.probe.claims).
local function declare_at(kind, name, handler, sites, given, claim)
  if not claim:sites(sites, kind) then return end
  local list, skipped = sites:list()
  warn_skipped(kind, name, skipped)
  lost_returns.note(list)
  for _, site in ipairs(list) do
    if site.of_go ~= list[1].of_go then
      error(("%s %s: functions of Go are called in another way than others: %s and %s need probes of their own")
        :format(kind, name, list[1]["function"], site["function"]), 0)
    end
  end
  setup.declare { kind = kind, spec = name, sites = list, of_go = list[1].of_go,
                  by_instruction = given.returns == "instructions", skipped = skipped, handler = handler,
                  functions = sites, attach = attach_function(sites),
                  result_bits = given.typed and setup.result_bits((sites:result())) }
end

-- True if what HANDLER becomes has to do with where its probe is: arguments by name.
local function needs_place(handler) return string.dump(handler):find("args", 1, true) ~= nil end

-- Has SPEC probed, too, in files that the target maps later. SITES: where it is probed by now; nil and ABSENT, the
-- reason: nowhere.
local function wait_for(kind, spec, handler, resolve, sites, absent, given, taken)
  local claim = claims.new(taken)
  late_modules.add {
    kind = kind, spec = spec, absent = absent, files = sites and sites:files(),
    find = function(text, pid)
      local found, none = resolve({ text }, pid)
      return found, none or found:files()
    end,
    declare = function(found) declare_at(kind, spec, handler, found, given, claim) end,
  }
  -- What is wrong with the handler is told now, and the types of what it shares with others are known.
  if absent and not needs_place(handler) then
    local symbol = spec:match "[:@]([^+]*)"
    setup.declare { kind = kind, spec = spec, symbol = symbol, sites = {}, handler = handler, waits = true }
  end
end

-- Those of SPECS of libraries that the target has not loaded are waited for; the others are declared.
local function declare_some(kind, specs, handler, resolve, given, taken)
  local there = {}
  for _, spec in ipairs(specs) do
    local sites, absent = resolve { spec }
    if sites then
      there[#there + 1] = spec
    elseif late_modules.library(spec) then
      wait_for(kind, spec, handler, resolve, nil, absent, given, taken)
    else
      error(kind .. " " .. absent, 0)
    end
  end
  if #there > 0 then
    declare_at(kind, table.concat(there, ", "), handler, (resolve(there)), given, claims.new(taken))
  end
end

-- Declares the probes of SPECS where RESOLVE(specs, pid or nil) finds them, and has those in libraries that may come
-- later waited for.
local function declare_resolved(kind, specs, handler, resolve, given)
  late_modules.begin(specs)
  local sites, absent = resolve(specs)
  local taken = claims.taken()
  if not sites then
    if late_modules.can() then return declare_some(kind, specs, handler, resolve, given, taken) end
    error(kind .. " " .. absent, 0)
  end
  for _, spec in ipairs(late_modules.can() and specs or {}) do
    if late_modules.name(spec) then wait_for(kind, spec, handler, resolve, sites, nil, given, taken) end
  end
  declare_at(kind, table.concat(specs, ", "), handler, sites, given, claims.new(taken))
  unmapped_libraries.expect(kind, specs)
end

local function declare(kind, spec, given, handler)
  if type(given) == "function" and handler == nil then given, handler = {}, given end
  local specs = type(spec) == "table" and spec or { spec }
  for i = 1, math.max(#specs, 1) do
    if type(specs[i]) ~= "string" then
      error(kind .. ": the first argument names the function: \"libc:malloc\"; or it is a list of such names", 3)
    end
  end
  local name = table.concat(specs, ", ")
  setup.check(kind, name, given, handler, 3,
    { slide = true, typed = kind == "uretprobe", returns = kind == "uretprobe", throws = kind == "uretprobe" })
  local slide = SLIDES[given.slide == nil or given.slide]
  if not slide then error(kind .. ': slide is true, false or "lossy"', 3) end
  local returns = kind == "uretprobe" and (given.returns or options.returns or "address")
  if returns and not RETURNS[returns] then error(kind .. ': returns is "address" or "instructions"', 3) end
  if returns == "address" and given.throws == false then returns = "surely" end
  given = { typed = given.typed, returns = returns }
  local function resolve(which, pid)
    local ok, sites, absent = pcall(core.probe.resolve, which, slide, returns, pid)
    if not ok then error(kind .. " " .. sites, 0) end
    return sites, absent
  end
  local ok, message = pcall(declare_resolved, kind, specs, handler, resolve, given)
  if not ok then error(message, 3) end
end

-- Declares a probe: { kind (the compiler's, src/compile/context/probe_kinds.c), spec, handler, sites, a list that may be
-- empty, skipped, likewise, where, a text for --explain in their place, arguments, what e.args has, as below, or
-- functions, the sites of functions that debug information tells it of, user_memory, true where a tracepoint's
-- addresses are the process's, passed_over, true where the kernel may leave hits out, mapped, true if the target must
-- have mapped its files by then, unfiltered, true if it is for whoever is traced, of_processes, true if only the
-- process is asked for, waits, true if it is only compiled as yet, and attach(probe, program, link), called when
-- PROGRAM is loaded ({ fd, cookie, entry_fd, entry_cookie, session }), which hands what it attaches to link(). }
--
-- An argument is { name (none: it has a number only), kind = "integer" (bits = 8 … 64, negative if signed), "boolean",
-- "pointer" (bits, type = "struct request *", kernel = true where it leads into the kernel's memory), "string" (size:
-- bytes) or "array" (size: elements, bits: of each), place = "context" (offset: bytes into the program's context),
-- "memory" (offset bytes from the address that is base bytes into the context), "data_loc", "rel_loc" (offset: of that
-- word), "constant" (number, a number or a string of digits) or "nowhere" (type: why not), or "registers" (offset bytes
-- into those whose address is base bytes into the context) }: src/base/argument.h.
function setup.declare(probe)
  pending[#pending + 1] = probe
end

-- uprobe(spec, [options], handler): HANDLER runs in the kernel whenever the function SPEC is entered; SPEC may be a
-- list of such. Raises what is wrong with it.
-- Options: slide = false, the probe stands on the first instruction; slide = "lossy", also behind conditional jumps.
function setup.uprobe(spec, given, handler) declare("uprobe", spec, given, handler) end

-- uretprobe(spec, [options], handler): HANDLER runs when the function returns. Options: typed = true, e.ret is cut to
-- the integer that debug information says the function returns; throws = false, no exception leaves the function, and
-- no warning of them is needed.
function setup.uretprobe(spec, given, handler) declare("uretprobe", spec, given, handler) end

-- The sites of SPEC in the target: { { path, module, ["function"], offset, inside }, … }, or nil and the reason.
function setup.site(spec)
  local ok, sites = pcall(core.probe.resolve, spec)
  if not ok then return nil, sites end
  return sites:list()[1]
end

-- True if SPEC can be probed.
function setup.defines(spec)
  return (pcall(core.probe.resolve, spec))
end

-- modules_defining(name, [later]): the paths of the target's modules that define the function NAME themselves; as
-- modules in a spec they resolve. later(path) is called for each that a process of the target loads later, and the
-- probes that it declares are attached.
setup.modules_defining = late_modules.modules_defining

local function tell_objects()
  for id = declared + 1, #object.all do
    local o = object.all[id]
    local kind, given = rawget(o, "kind"), rawget(o, "options") or {}
    local max = given.max or DEFAULT_ENTRIES
    if kind == "ring" or kind == "output" then max = given.size or DEFAULT_RING end
    compiler:add_object(kind, max, object.state(o).buckets, given.key, given.value)
    declared = id
  end
  for id, o in ipairs(object.all) do
    for _, entry in ipairs(rawget(o, "queued") or {}) do
      if entry.file then compiler:given(id - 1, entry[1], entry[2], entry.file, entry.line) end
    end
  end
end

-- What stands for the kernel's trampoline where code is only looked at, so that it is the same on each machine.
local ANY_TRAMPOLINE = "0xffffffff81000000"

local LONGEST_NAME = 127 -- bytes of e.func where there are several (src/compile/lower/func_names.c)

-- Warns that e.func of PROBE is the same for several of NAMES.
local function check_names(probe, names)
  local seen, same = {}, 0
  for _, name in ipairs(names) do
    local short = #name > LONGEST_NAME and name:sub(1, LONGEST_NAME)
    if short and (seen[short] or name) ~= name then same = same + 1 end
    if short then seen[short] = name end
  end
  if same == 0 or options.explain then return end
  loop.warn(("%s %s: e.func does not tell %d of the functions from others, whose names are the same in their first " ..
             "%d bytes"):format(probe.kind, probe.spec, same, LONGEST_NAME))
end

-- What the compiler needs to know of PROBES.
local function describe(probes)
  local handlers, returns, trampoline = {}, false, nil
  for i, probe in ipairs(probes) do
    local first = probe.sites[1]
    local at_entry, slid, names = probe.kind ~= "usdt", first and first.slid, {}
    local differ = false
    for n, site in ipairs(probe.sites) do
      at_entry = at_entry and (site.inside == 0 or site.is_exit) and not site.jumped_to
      if site.slid ~= slid and not site.is_exit then slid = -1 end
      names[n] = site.name or site["function"]
      differ = differ or names[n] ~= names[1]
    end
    if differ then check_names(probe, names) end
    returns = returns or probe.kind == "uretprobe"
    trampoline = trampoline or probe.trampoline
    handlers[i] = {
      kind = probe.kind, probe = probe.spec, symbol = probe.symbol or names[1], names = differ and names or nil,
      at_entry = at_entry, slid = slid, handle = capture.handle(probe.handler),
      arguments = probe.arguments, functions = probe.functions, user_memory = probe.user_memory, raw = probe.raw,
      value_bits = probe.value_bits or 0, result_bits = probe.result_bits or 0, of_go = probe.of_go,
      by_instruction = probe.by_instruction, unfiltered = probe.unfiltered, of_processes = probe.of_processes,
    }
  end
  local description = filter.describe()
  description.handlers, description.returns, description.reuse = handlers, returns, unwinding
  description.explained = options.explain
  description.trampoline = trampoline or ANY_TRAMPOLINE
  return description
end

-- What uplua itself needs for the first setup comes before it.
local function declare_own()
  local user = pending
  pending = {}
  filter.begin(options.follow and require "uplua.probe.tracepoint")
  for _, probe in ipairs(user) do pending[#pending + 1] = probe end
end

-- --emit and --explain: compiles what is pending, writes the object and prints what is in it, as far as asked for.
local function compile_only(probes, description)
  local compiled = compiler:compile(description, options.emit)
  if options.explain then io.write(require "uplua.compile.explain".report(compiled, probes)) end
end

-- Warns of variables that the script has changed since a handler took them as constants.
local function check_captured()
  for _, warning in ipairs(capture.changed()) do loop.warn(warning) end
end

local function attach(probe, program, link)
  if core.loop.signal() then error("interrupted: the probes were not attached", 0) end
  probe:attach(program, link)
end

-- In the kernel's own time a program is passed over where another one runs on that CPU, or the CPU's turn was taken
-- from one that works on a map: the ledger has to say so.
local function keep_passed_over(probe, program)
  if not probe.passed_over then return end
  local text = ("%s %s: hits that the kernel passed over, of any process, since it ran another program on that CPU")
    :format(probe.kind, probe.spec)
  for _, fd in ipairs { program.fd, program.entry_fd } do passed_over[#passed_over + 1] = { fd, text } end
end

-- A probe that is no handler's: the program NAME, which the compiler has added where handlers need it, at the raw
-- tracepoint EVENT.
local function own(name, event)
  return { name = name, attach = function(_, program, link)
    link(core.kernel.attach_rawtracepoint(program.fd, event))
  end }
end

local THREADS_END = own("uplua_threads_end", "sched_process_exit") -- counts the calls that threads end in
-- Stacks of a process that has executed another program. The ends of processes are seen before any of them is noted.
local EXECUTED = { own("uplua_exits", "sched_process_exit"), own("uplua_executes", "sched_process_exec") }

-- While the entries and the returns of calls are not attached both, calls do not pair; WHETHER that counts is told to
-- the kernel (bpf/call_pairs.h).
local function settle(whether)
  for _, loaded in ipairs(setups) do
    local settled = loaded:address "uplua_calls_settled"
    if settled then ffi.cast("volatile uint64_t *", settled)[0] = whether and 1 or 0 end
  end
end

-- Whether one of LIST has an entry and a return that are attached one after the other.
local function has_halves(list)
  for _, item in ipairs(list) do
    if item[2].entry_fd and not item[2].session then return true end
  end
  return false
end

-- Attaches LIST, { { probe, program }, … }, or nothing of it. A probe's attach calls link(LINK, whether it goes last:
-- the entry half of a system call's).
local function attach_all(list)
  local links = {}
  settle(not has_halves(list))
  for _, item in ipairs(list) do
    local ok, message = pcall(attach, item[1], item[2], function(link, of_entry)
      links[#links + 1] = link
      of_entries[link] = of_entry or nil
    end)
    if not ok then
      core.probe.close(links)
      settle(true)
      error(message, 0)
    end
  end
  for _, link in ipairs(links) do attached[#attached + 1] = link end
  changed_files.watch(links)
  settle(true)
end

-- To be called once for the BPF object GUEST, whose programs are to be attached: commit() calls guest:load(), which
-- returns a list for attach_all.
function setup.bring(guest) guests[#guests + 1] = guest end

-- What probes take, where handlers take it off e.elapsed.
local COSTS = "uplua_costs"

-- Adds to LIST, which attach_all takes, a PROBE that is no handler's, if LOADED has its program.
local function add_own(list, loaded, probe)
  local fd = loaded:program(probe.name)
  if fd then list[#list + 1] = { probe, { fd = fd } } end
end

-- Compiles and loads PROBES, and tells shared objects of their maps. Returns a list for attach_all.
local function load_handlers(probes, description)
  local loaded, programs, objects, link, unknown = compiler:load(description)
  timing.mark "loaded"
  setups[#setups + 1] = loaded
  local costs = loaded:address(COSTS)
  if costs then require "uplua.probe.overhead".keep(costs, link, unknown) end
  output.watch(loaded)
  capture.keep()
  loop.check = check_captured
  local turns = ffi.cast("uint64_t *", (loaded:address "uplua_turns"))
  for id, found in pairs(objects) do
    local o = object.all[id]
    if found.turn then found.turn = turns + found.turn end
    if not rawget(o, "name") then rawset(o, "name", found.name or false) end
    o:bind(found)
  end
  local stacks, list = loaded:map "uplua_stacks", {}
  if stacks then
    local stack = require "uplua.stack.stack"
    stack.bind(stacks)
    stack.bind(loaded:map "uplua_stacks_reserve")
    local own = loaded:map "uplua_own_code"
    if own then core.kernel.write_own(own) end
    local walked = loaded:map(stack.TABLES[1]) -- the program's stack, not just the kernel's
    if walked and not next(unwinding) then
      for _, name in ipairs(stack.TABLES) do unwinding[name] = loaded:map(name) end
      stack.unwind(unwinding, filter.is_open(), core.target.command())
      for _, probe in ipairs(EXECUTED) do add_own(list, loaded, probe) end
    end
    stack.follow(filter.is_open() and {} or description.pids, core.target.command())
  end
  add_own(list, loaded, THREADS_END)
  for i, probe in ipairs(probes) do
    keep_passed_over(probe, programs[i])
    if not probe.waits then list[#list + 1] = { probe, programs[i] } end
  end
  return list
end

-- Compiles, loads and attaches what is pending. If anything fails, nothing of it stays attached and the error is
-- raised.
function setup.commit()
  if #pending + #guests == 0 then return end
  declare_own()
  local probes, brought = pending, guests
  local list = {}
  pending, guests = {}, {}
  lost_returns.tell()
  if #probes > 0 then
    compiler = compiler or core.setup.new()
    capture.begin()
    output.declare()
    tell_objects()
    timing.mark "compile"
    local description = describe(probes)
    if options.emit or options.explain then return compile_only(probes, description) end
    list = load_handlers(probes, description)
  end
  if options.emit or options.explain then return end
  for _, guest in ipairs(brought) do
    for _, item in ipairs(guest:load()) do
      keep_passed_over(item[1], item[2])
      list[#list + 1] = item
    end
  end
  timing.mark "attach"
  local ready = {}
  for _, item in ipairs(list) do
    local waits = item[1].mapped and core.target.waits()
    local of = waits and late or ready
    of[#of + 1] = item
  end
  attach_all(ready)
  filter.attached()
  timing.mark "attached"
end

late_modules.commit = setup.commit

-- Lets a command begin. Probes for which it has to have mapped its program and libraries are attached at its first
-- instruction; if one of them fails, that is raised and the command does not go on. Its stacks are walked by what it
-- has mapped, too: read there, they are whole from its first call on, whoever holds its mappings meanwhile (others'
-- probes in the same library do).
function setup.release()
  late_modules.release()
  local stack = package.loaded["uplua.stack.stack"]
  if stack and core.target.waits() then stack.begin() end
  if next(unwinding) then require "uplua.stack.stack".settle() end
  timing.mark "settled"
  local list = late
  late = {}
  local walked = next(unwinding) and not filter.is_open()
  if #list > 0 or walked then
    core.target.hold(#list > 0)
    if not core.target.status() then
      attach_all(list)
      if walked then require "uplua.stack.stack".update() end
    end
  else
    core.target.release()
  end
  core.target.go()
end

-- True once there are probes for what the target does.
function setup.attached() return #attached + #late > 0 end

-- Forgets the probes that were declared and not committed.
function setup.discard() pending, guests = {}, {} end

late_modules.discard = setup.discard

-- Detaches all probes. Maps stay readable. Entries of system calls go last: the returns of calls that begin in the
-- meantime would count them as not seen.
function setup.close()
  late_modules.last()
  changed_files.look()
  timing.mark "detach"
  settle(false)
  local entries, others = {}, {}
  for _, link in ipairs(attached) do table.insert(of_entries[link] and entries or others, link) end
  local cost = package.loaded["uplua.probe.overhead"]
  for _, link in ipairs(cost and cost.close() or {}) do others[#others + 1] = link end
  core.probe.close(others)
  core.probe.close(entries)
  local stack = package.loaded["uplua.stack.stack"]
  if stack then stack.unfollow() end
  timing.mark "detached"
  attached, of_entries = {}, {}
end

-- The library's counters of losses (bpf/stack.h, bpf/aggregate.h).
local LIBRARY = {
  uplua_stack_lost = {
    [0] = "the stack store is full: stack not kept",
    "stack not taken: other probes were using the buffers",
    "stack cut at 127 frames",
    "stack cut at a frame whose return address a return probe hides",
    "stack incomplete: a frame's code has no unwind table and no frame pointer",
    "stack incomplete: a frame's mapping was not known",
    "stack incomplete: its memory could not be read",
    "program that a process has executed not noted: its stacks may be walked and named by an earlier one's files",
  },
  uplua_aggregate_lost = { [0] = "smallest or largest value of an aggregation not updated" },
}

-- What was lost so far: { { text, count }, … }, empty if nothing was.
function setup.ledger()
  local counts, order = {}, {}
  local function add(text, count)
    if count == 0 then return end
    if not counts[text] then order[#order + 1] = text end
    counts[text] = (counts[text] or 0) + count
  end
  for _, loaded in ipairs(setups) do
    local causes, values = loaded:causes(), loaded:counters "uplua_ledger"
    for i = 0, #causes do
      if causes[i] and values then add(causes[i], values[i]) end
    end
    for name, texts in pairs(LIBRARY) do
      local lost = loaded:counters(name)
      for i, text in pairs(texts) do add(text, lost and lost[i] or 0) end
    end
  end
  local aggregate = package.loaded["uplua.objects.aggregate"]
  for _, o in ipairs(aggregate and object.all or {}) do
    local name = rawget(o, "name") or rawget(o, "kind")
    add(("a sum of '%s' is beyond 64 bits: rounded"):format(name), aggregate.rounded(o))
  end
  for _, o in ipairs(object.guests) do
    add(("%s: records that are shorter than their type"):format(o.name), object.state(o).unknown or 0)
  end
  for _, program in ipairs(passed_over) do add(program[2], core.probe.misses(program[1])) end
  local stack = package.loaded["uplua.stack.stack"]
  for _, entry in ipairs(stack and stack.lost() or {}) do add(entry[1], entry[2]) end
  local frame = package.loaded["uplua.stack.frame"]
  for _, entry in ipairs(frame and frame.unread() or {}) do add(entry[1], entry[2]) end
  local sampling = package.loaded["uplua.probe.sampling"]
  for _, entry in ipairs(sampling and sampling.lost() or {}) do add(entry[1], entry[2]) end
  for _, entry in ipairs(late_modules.lost()) do add(entry[1], entry[2]) end
  local list = {}
  for i, text in ipairs(order) do list[i] = { text, counts[text] } end
  return list
end

return setup
