-- A handler and its probe: the record that a kind of probe makes of what the script has given, and what the compiler
-- (src/lua/handler.c) is told of it.
local capture  = require "uplua.compile.capture"
local contract = require "uplua.contract"
local loop     = require "uplua.base.loop"
local options  = require "uplua.options"

local handler = {}

-- The record's fields, and the types of their values. What is not there is nil.
--
--   provider      the kind of probe that it is (uplua.probe.providers)
--   spec          what the script has named: e.probe
--   handle        the probe as the script holds it (uplua.probe.handle); nil: uplua's own
--   handler       the function; of a handle, its
--   sites         the places in programs and libraries where it stands (core.probe.resolve, core.usdt)
--   summary       sites:summary(): made here where it is not given
--   functions     they are functions, of which debug information tells
--   skipped       a list of what is left out of the sites, for --explain
--   places        where it stands elsewhere, a list: of each its `function`, inside and slid, and a text for --explain
--   where         a text for --explain, in the place of sites
--   symbol        e.func where no place tells it
--   arguments     what e.args has, as below
--   trampoline    where the kernel has its functions return to: the address as text
--   value_bits, result_bits  how many bits e.value and e.ret have, negative if signed; 0: whole words
--   no_result     why there is no e.ret: what the functions return, "double", which is in no register of integers, or
--                 "void"
--   maybe_no_result  the handle has records of functions that return integers, and others: e.ret may be nil, and is
--                 where there is no_result
--   results       what results.warn and .explain say of e.ret (uplua.probe.results)
--   all_names     e.func of all records that the handle's sites are divided into; {}: another one of them has these
--   of_go         the functions are Go's, which are called in another way
--   by_instruction  returns are seen at return instructions
--   raw           the probe stands at all system calls: its arguments are registers
--   call          then the number of the one that it is for, or SYSTEM_CALL_ANY … of bpf/system_calls.h
--   user_memory   a tracepoint's addresses are the process's
--   of_kernel     a watchpoint's are the kernel's
--   passed_over   the kernel may leave hits out
--   mapped        the target must have mapped its files before the probe is attached
--   unfiltered    the probe is for whoever is traced
--   of_processes  only the process is asked for
--   of_every_cpu  the probe is for CPUs that are not traced, too
--   waits         it is only compiled as yet: what it stands on comes later
--   attach        attach(probe, program, link), called when PROGRAM is loaded ({ fd, cookie, entry_fd, entry_cookie,
--                 session }), hands what it attaches to link()
--
-- An argument is { name (none: it has a number only), kind = "integer" (bits = 8 … 64, negative if signed), "boolean",
-- "pointer" (bits, type = "struct request *", kernel = true where it leads into the kernel's memory), "string" (size:
-- bytes) or "array" (size: elements, bits: of each), place = "context" (offset: bytes into the program's context),
-- "memory" (offset bytes from the address that is base bytes into the context), "data_loc", "rel_loc" (offset: of that
-- word), "constant" (number, a number or a string of digits) or "nowhere" (type: why not), or "registers" (offset bytes
-- into those whose address is base bytes into the context) }: src/base/argument.h.
local FIELDS = {
  provider = "table", spec = "string", handler = "function", handle = "table", sites = "userdata", summary = "table",
  places = "table", skipped = "table", where = "string",
  symbol = "string", functions = "boolean", arguments = "table", trampoline = "string", value_bits = "number",
  result_bits = "number", no_result = "string", maybe_no_result = "boolean", results = "table", all_names = "table",
  of_go = "boolean", by_instruction = "boolean", raw = "boolean", call = "number",
  user_memory = "boolean",
  of_kernel = "boolean",
  no_registers = "boolean",
  passed_over = "boolean", mapped = "boolean", unfiltered = "boolean", of_processes = "boolean",
  of_every_cpu = "boolean", waits = "boolean", attach = "function",
}
local REQUIRED = { "provider", "spec", "handler" }

local Handler = {
  __index = function(_, name)
    if not FIELDS[name] then error(("a handler has no field '%s'"):format(tostring(name)), 2) end
  end,
  __newindex = function(_, name) error(("a handler's field '%s' is set when it is made"):format(tostring(name)), 2) end,
}

-- new(fields) → the record, FIELDS themselves. Raises what a kind of probe has misspelled or left out.
function handler.new(fields)
  for name, value in pairs(fields) do
    if not FIELDS[name] then error(("a handler has no field '%s'"):format(tostring(name)), 2) end
    if type(value) ~= FIELDS[name] then
      error(("a handler's field '%s' is a %s, not a %s"):format(name, FIELDS[name], type(value)), 2)
    end
  end
  for _, name in ipairs(REQUIRED) do
    if fields[name] == nil then error(("a handler needs the field '%s'"):format(name), 2) end
  end
  if not fields.attach and not fields.waits then error("a handler needs the field 'attach', or waits", 2) end
  if fields.sites then fields.summary = fields.summary or fields.sites:summary() end
  return setmetatable(fields, Handler)
end

-- How many bits of e.ret count of functions that return RESULT (sites:result), negative if signed: 0 for all of them
-- and a sign, as where nobody knows.
function handler.result_bits(result)
  local of_word = result and result.place ~= "nowhere" and result.kind ~= "pointer"
    and result.bits > -64 and result.bits <= 64
  return of_word and result.bits or 0
end

-- What functions that return RESULT return, where that is something, but no word; nil: it is, or nobody knows.
function handler.no_result(result)
  return result and result.place == "nowhere" and result.type ~= "void" and result.type or nil
end

local LONGEST_NAME = contract.NAMES_MAX_CAPACITY - 1 -- bytes of e.func where there are several

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
             "%d bytes"):format(probe.provider.name, probe.spec, same, LONGEST_NAME))
end

-- The same of PLACES as sites:summary() has it.
local function summarise(places)
  local first = places[1]
  local summary = { at_entry = true, slid = first and first.slid, symbol = first and first["function"] }
  local names, differ = {}, false
  for n, place in ipairs(places) do
    summary.at_entry = summary.at_entry and place.inside == 0
    if place.slid ~= summary.slid then summary.slid = -1 end
    names[n] = place["function"]
    differ = differ or names[n] ~= names[1]
  end
  summary.names = differ and names or nil
  return summary
end

-- The description of PROBE for the compiler (src/lua/handler.c).
function handler.describe(probe)
  local summary = probe.summary or summarise(probe.places or {})
  if summary.names then check_names(probe, probe.all_names or summary.names) end
  return {
    kind = probe.provider.name, probe = probe.spec, handle = capture.handle(probe.handler),
    symbol = probe.symbol or summary.symbol, names = summary.names,
    at_entry = summary.at_entry and not probe.provider.inside, slid = summary.slid,
    arguments = probe.arguments, functions = probe.functions and probe.sites or nil,
    user_memory = probe.user_memory, of_kernel = probe.of_kernel, no_registers = probe.no_registers, raw = probe.raw,
    call = probe.call or contract.SYSTEM_CALL_ANY,
    state = probe.handle and probe.handle.number or 0, version = probe.handle and probe.handle.version or 0,
    value_bits = probe.value_bits or 0, result_bits = probe.result_bits or 0, no_result = probe.no_result,
    maybe_no_result = probe.maybe_no_result, of_go = probe.of_go,
    by_instruction = probe.by_instruction, unfiltered = probe.unfiltered, of_processes = probe.of_processes,
    of_every_cpu = probe.of_every_cpu,
  }
end

return handler
