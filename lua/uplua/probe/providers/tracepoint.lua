-- tracepoint: tracepoints of the kernel, what a hit records by name.
local argument_types = require "uplua.probe.argument_types"
local claims         = require "uplua.probe.claims"
local contract       = require "uplua.contract"
local core           = require "uplua.core"
local declare        = require "uplua.probe.declare"
local option_table   = require "uplua.base.option_table"
local options        = require "uplua.options"
local without_hits   = require "uplua.probe.without_hits"

local tracepoint = {}

-- What a handler takes of a string whose length only the record knows, unless the option `strings` says otherwise; as
-- up.str does.
local DYNAMIC = 64
local MOST = contract.MAX_STRING -- bytes of a handler's string

-- Fields that all tracepoints have lie where the kernel puts the registers before it runs a program.
local COMMON = { place = "nowhere", type = "the kernel's programs find other things in its place" }
local COMMON_HINT = { common_pid = "it is e.tid", common_type = "it is the tracepoint's number" }

-- The records of system calls hold whole registers and call none of them signed: what counts is what the call's
-- argument is declared as. Bits, negative if signed; an argument of another type is the whole register, unsigned.
local REGISTER = { long = -64, loff_t = -64, off_t = -64, ssize_t = -64, umode_t = 16 }
for bits, types in pairs {
  [-32] = "int pid_t clockid_t timer_t mqd_t key_t key_serial_t rwf_t s32 __s32",
  [32] = "unsigned u32 __u32 uid_t gid_t qid_t",
} do
  for name in types:gmatch "%S+" do REGISTER[name] = bits end
end
REGISTER["unsigned int"] = 32

local function register_bits(type)
  type = type:gsub("^const ", "")
  return REGISTER[type] or type:find "^enum " and 32 or 64
end

local function is_text(type)
  return type:find "^const char%f[^%w_]" or type:find "^char%f[^%w_]" or type:find "_loc char%f[^%w_]"
end

-- What the field of a record (core.tracepoint's :fields()) is to a handler. OF_CALL: the record is a system call's.
local function argument_of(field, strings, of_call)
  if field.common then
    local why = COMMON_HINT[field.name]
    return { name = field.name, place = COMMON.place, type = COMMON.type .. (why and "; " .. why or "") }
  end
  local place = field.where == "here" and "context" or field.where
  local argument = { name = field.name, offset = field.offset, place = place, type = field.type }
  local bits = 8 * (field.element > 0 and field.element or field.size)
  argument.bits = field.signed and -bits or bits
  local plain = bits == 8 or bits == 16 or bits == 32 or bits == 64
  if field.where == "here" and field.element > 0 and field.count == 0 then
    argument.place, argument.type = "nowhere", ("it is a '%s', whose length is not known"):format(field.type)
  elseif field.where ~= "here" then
    if is_text(field.type) then
      argument.kind, argument.size = "string", strings or DYNAMIC
    else
      argument.place = "nowhere"
      argument.type = ("it is a '%s', of a length that only the record knows"):format(field.type)
    end
  elseif field.element > 0 and is_text(field.type) then
    argument.kind, argument.size = "string", field.count
  elseif field.element > 0 and plain and field.count > 0 then
    argument.kind, argument.size = "array", field.count
  elseif field.type == "bool" and field.size == 1 then
    argument.kind = "boolean"
    argument.bits = 8
  elseif plain then
    argument.kind = "integer"
    if of_call and bits == 64 then argument.bits = register_bits(field.type) end
  else
    argument.place = "nowhere"
    argument.type = ("it is a '%s' of %d bytes, which handlers cannot compute with"):format(field.type, field.size)
  end
  return argument
end

-- What the FIELDS of a record are to a handler: a list of arguments (handler.lua).
function tracepoint.arguments(fields, strings, of_call)
  local arguments = {}
  for i, field in ipairs(fields) do arguments[i] = argument_of(field, strings, of_call) end
  return arguments
end

local MOST_OF_PATTERN = 64 -- tracepoints: each has a program of its own

-- Systems whose records are not made where a tracepoint of the same name is: users' own, and the kernel's tracers'.
local APART = { kprobes = true, uprobes = true, synthetic = true, eprobes = true, ftrace = true }

-- True unless another probe of the list stands at the tracepoint SPEC, "sched:sched_switch", perhaps by another kind's
-- name.
function tracepoint.claim(spec)
  local mine = claims.new(claims.taken())
  local system, name = spec:match "^([^:]*):(.*)$"
  local where, call = spec:match "^syscalls:sys_(%l+)_(.*)$"
  local all = (system == "raw_syscalls" or not system) and (name or spec):match "^sys_(%l+)$"
  if where or all then return mine:call(where or all, call or "*") end
  return mine:name("tracepoint " .. (APART[system] and spec or name or spec))
end

-- The tracepoint SPEC. Where this process may not read what tracefs says of it, --check takes what the kernel's types
-- say.
local function find(spec)
  local ok, found = pcall(core.tracepoint.find, spec)
  if ok then return found end
  local of_types = options.check and declare.is_denied(found) and core.tracepoint.of_types(spec)
  return of_types or error(found, 0)
end

local function declare_one(spec, given, mine)
  if not tracepoint.claim(spec) then return end
  local found = find(spec)
  local of_call = spec:find "^syscalls:" ~= nil
  declare.probe {
    provider = tracepoint.providers.tracepoint, spec = spec, symbol = spec, handle = mine,
    passed_over = true, unfiltered = given.all, of_every_cpu = given.every_cpu,
    arguments = tracepoint.arguments(found:fields(), given.strings, of_call),
    where = ("the kernel's tracepoint %s, number %d"):format(spec, found:id()),
    user_memory = of_call or spec:find "^raw_syscalls:" ~= nil,
    attach = function(_, program, link)
      link(declare.try("tracepoint ", 0, found.attach, found, program.fd))
    end,
  }
end

-- The tracepoints that SPEC, a name or a pattern, means.
local function names_of(spec)
  if not spec:find "[*?[]" then return { spec } end
  local names = core.tracepoint.match(spec)
  if #names > MOST_OF_PATTERN then
    error(("%s: it matches %d tracepoints, and each takes a probe of its own, of which %d are too many")
      :format(spec, #names, MOST_OF_PATTERN + 1), 0)
  end
  return names
end

-- SYSTEM:NAME, both patterns. Formats are read for DETAILS only: there are thousands.
local function list_tracepoints(rest, details)
  local system, name = rest:match "^([^:]*):?(.*)$"
  local pattern = ("%s:%s"):format(system ~= "" and system or "*", name ~= "" and name or "*")
  local entries = {}
  for i, spec in ipairs(core.tracepoint.match(pattern)) do
    local of_call = spec:find "^syscalls:" ~= nil
    local fields = details and tracepoint.arguments(core.tracepoint.find(spec):fields(), nil, of_call)
    entries[i] = { probe = "tracepoint:" .. spec, arguments = fields and argument_types.list(fields) }
  end
  return entries
end

-- "sched:sched_switch", or a pattern.
local function hint(word)
  return word:find "^[^:]+:[^:]+$" and pcall(core.tracepoint.match, word)
    and ("; did you mean tracepoint:%s?"):format(word) or nil
end

tracepoint.providers = {
  tracepoint = {
    name = "tracepoint", specified = true, ways = { { needs = {}, "a perf event for each tracepoint" } },
    options = {
      strings = option_table.integer(1, MOST), all = option_table.boolean, every_cpu = option_table.boolean,
    },
    list = list_tracepoints, hint = hint, without_hits = without_hits.in_others(without_hits.OF_ALL),
    hits = function(rest) return list_tracepoints(rest, true) end,
  },
}

-- tracepoint(spec, [options], handler): HANDLER runs whenever the kernel passes the tracepoint SPEC,
-- "sched:sched_switch", or one of the pattern "sched:sched_process_*", while it works for a process that is traced;
-- e.probe is its name. Options: strings, how many bytes a handler takes of a string of any length (64); all, true:
-- whoever is traced, also while the kernel works for another process, as it does where a thread is woken; every_cpu,
-- true: also on CPUs that --cpu leaves out. Raises what is wrong with the arguments.
function tracepoint.tracepoint(spec, given, handler)
  if type(spec) ~= "string" then
    error("tracepoint: the first argument names the tracepoint: \"sched:sched_switch\"", 2)
  end
  local given, mine = declare.arguments(tracepoint.providers.tracepoint, spec, given, handler)
  declare.try("tracepoint ", 2, declare.readable, mine, function()
    for _, name in ipairs(names_of(spec)) do declare_one(name, given, mine) end
  end)
  return mine
end

return tracepoint
