-- raw_tracepoint: tracepoints of the kernel, by the words that its code gives them.
local argument_types = require "uplua.probe.argument_types"
local core           = require "uplua.core"
local declare        = require "uplua.probe.declare"
local option_table   = require "uplua.base.option_table"
local pattern        = require "uplua.base.pattern"
local without_hits   = require "uplua.probe.without_hits"

local raw_tracepoint = {}

local function find_raw(spec)
  local name = spec:match "^[%w_]+:([%w_]+)$" or spec
  return core.kernel.raw_tracepoint(name), name
end

local function arguments_of(found)
  local arguments = core.kernel.parameters(found)
  table.remove(arguments, 1) -- the program's own
  for i, argument in ipairs(arguments) do argument.place, argument.offset = argument.place or "context", 8 * (i - 1) end
  return arguments
end

-- OF: a probe's handle, or of uplua's own the handler. WHOM: which of a handler's fields unfiltered, of_processes and
-- of_every_cpu are set.
local function declare_raw(spec, name, found, of, whom)
  local own = type(of) == "function"
  declare.probe {
    provider = raw_tracepoint.providers.raw_tracepoint, spec = spec, symbol = name,
    handle = not own and of or nil, handler = own and of or nil,
    arguments = arguments_of(found), passed_over = true,
    unfiltered = whom.unfiltered, of_processes = whom.of_processes, of_every_cpu = whom.of_every_cpu,
    where = "the kernel's tracepoint " .. name .. ", without a record",
    attach = function(_, program, link)
      link(declare.try("raw_tracepoint ", 0, core.kernel.attach_raw_tracepoint, program.fd, name))
    end,
  }
end

-- The hits of a trace: what the kernel's code gives the raw tracepoint.
local function hits(rest, _, spec)
  local ok, arguments = pcall(function() return arguments_of((find_raw(rest))) end)
  return { { probe = spec, parameters = ok and arguments or nil } }
end

local CALLER = "__traceiter_" -- what the kernel's function for each is called (probe/attach/raw_tracepoint.c)

-- A pattern of names, perhaps behind the system's, "sched:sched_*", which the kernel's types do not tell.
local function list(rest, details)
  local wanted, entries = rest:match "^[%w_*]+:(.*)$" or rest, {}
  for caller in pairs(core.kernel.functions(CALLER)) do
    local name = caller:sub(#CALLER + 1)
    if pattern.matches(wanted ~= "" and wanted or "*", name) then
      local arguments = details and argument_types.list(arguments_of(caller)) or nil
      entries[#entries + 1] = { probe = "raw_tracepoint:" .. name, arguments = arguments }
    end
  end
  if #entries == 0 then find_raw(wanted) end -- which says why
  table.sort(entries, function(a, b) return a.probe < b.probe end)
  return entries
end

raw_tracepoint.providers = {
  raw_tracepoint = {
    name = "raw_tracepoint", specified = true, ways = { { needs = {}, "a link" } },
    options = { all = option_table.boolean, every_cpu = option_table.boolean, begun = option_table.boolean },
    list = list, hits = hits,
    without_hits = without_hits.in_others(without_hits.OF_ALL),
  },
}

-- raw_tracepoint(name, [options], handler): HANDLER runs where tracepoint's does, before the kernel makes a record,
-- which is cheaper; e.args.NAME is what the kernel's code gives the tracepoint: pointers lead into the kernel's
-- structures. Options: all and every_cpu, as of tracepoint; begun, of a command from its first instruction on: what
-- uplua has done to it before is none of its doings. Raises what is wrong with the arguments.
function raw_tracepoint.raw_tracepoint(spec, given, handler)
  local tracepoint = require "uplua.probe.providers.tracepoint" -- here: uplua's own probes do not need it
  if type(spec) ~= "string" then
    error("raw_tracepoint: the first argument names the tracepoint: \"sched_switch\"", 2)
  end
  local given, mine = declare.arguments(raw_tracepoint.providers.raw_tracepoint, spec, given, handler)
  local found, name = declare.try("raw_tracepoint ", 2, find_raw, spec)
  mine.begun = given.begun or false
  if tracepoint.claim(name) then
    declare_raw(spec, name, found, mine, { unfiltered = given.all, of_every_cpu = given.every_cpu })
  end
  return mine
end

-- The same for uplua itself: HANDLER runs whoever is traced.
function raw_tracepoint.unfiltered(name, handler)
  local found = find_raw(name)
  declare_raw(name, name, found, handler, { unfiltered = true, of_every_cpu = true })
end

-- The same: HANDLER runs in the processes that are traced, whatever holds for their threads.
function raw_tracepoint.of_processes(name, handler)
  local found = find_raw(name)
  declare_raw(name, name, found, handler, { of_processes = true, of_every_cpu = true })
end

-- The same: HANDLER runs in all processes; e.traced says whether one is traced, whatever holds for its threads.
function raw_tracepoint.all_processes(name, handler)
  local found = find_raw(name)
  declare_raw(name, name, found, handler, { unfiltered = true, of_processes = true, of_every_cpu = true })
end

-- What stands for the probe of a program that no handler has, at the raw tracepoint EVENT; WHERE: a text for --explain.
function raw_tracepoint.own(event, where)
  return {
    provider = raw_tracepoint.providers.raw_tracepoint, spec = event, where = where,
    attach = function(_, program, link) link(core.kernel.attach_raw_tracepoint(program.fd, event)) end,
  }
end

return raw_tracepoint
