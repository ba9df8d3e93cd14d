-- syscall and sysreturn: system calls by name, where a thread enters the kernel, and where it leaves it.
local ffi            = require "ffi"
local argument_types = require "uplua.probe.argument_types"
local claims         = require "uplua.probe.claims"
local contract       = require "uplua.contract"
local core           = require "uplua.core"
local declare        = require "uplua.probe.declare"
local pattern        = require "uplua.base.pattern"
local tracepoint     = require "uplua.probe.providers.tracepoint"

local syscall = {}

local ENTER, EXIT = "syscalls:sys_enter_", "syscalls:sys_exit_"
local MOST = 64 -- calls of one pattern: each has a program of its own, and takes the kernel as long to let go as any

-- Calls whose tracepoints have another name, that of the kernel's function.
local KERNEL_NAMES = {
  fstat = "newfstat", lstat = "newlstat", sendfile = "sendfile64", stat = "newstat", umount2 = "umount",
  uname = "newuname",
}
local NAMES = {}
for name, kernel in pairs(KERNEL_NAMES) do NAMES[kernel] = name end

local function tracepoint_of(name, where)
  return core.tracepoint.find((where or ENTER) .. (KERNEL_NAMES[name] or name))
end

-- The call's arguments, of the record FOUND at its entry.
local function arguments_of(found)
  local list = {}
  for _, argument in ipairs(tracepoint.arguments(found:fields(), nil, true)) do
    if argument.offset and argument.offset >= 16 then list[#list + 1] = argument end -- behind the head and the number
  end
  return list
end

-- The arguments of any call: registers.
local function registers()
  local list = {}
  for i, offset in ipairs(core.kernel.syscall_registers()) do
    list[i] = { kind = "integer", bits = -64, place = "registers", base = 0, offset = offset }
  end
  return list
end

local function declare_any(provider, mine)
  local begin, event = provider.name .. " ", provider.event
  declare.probe {
    provider = provider, spec = "*", handle = mine, passed_over = true,
    arguments = registers(), raw = true,
    where = ("the %s of every system call"):format(event == "enter" and "entry" or event),
    attach = function(_, program, link)
      local raw = core.kernel.attach_raw_tracepoint
      if program.entry_fd then link(declare.try(begin, 0, raw, program.entry_fd, "sys_enter"), true) end
      link(declare.try(begin, 0, raw, program.fd, "sys_" .. event))
    end,
  }
end

local function declare_one(provider, name, mine)
  local begin = provider.name .. " "
  local entry, exit = tracepoint_of(name), tracepoint_of(name, EXIT)
  local kernel = KERNEL_NAMES[name] or name
  declare.probe {
    provider = provider, spec = name, symbol = name, handle = mine,
    arguments = arguments_of(entry), passed_over = true,
    where = not provider.of_return and "the kernel's tracepoint " .. ENTER .. kernel or
            ("the kernel's tracepoints %s%s and %s%s"):format(ENTER, kernel, EXIT, kernel),
    attach = function(_, program, link)
      if program.entry_fd then link(declare.try(begin, 0, entry.attach, entry, program.entry_fd), true) end
      local at = provider.of_return and exit or entry
      link(declare.try(begin, 0, at.attach, at, program.fd))
    end,
  }
end

-- The names of the calls that WANTED, a name or a pattern, matches, sorted. Raises why there are none; KIND begins the
-- message.
function syscall.names(kind, wanted)
  local ok, found = pcall(core.tracepoint.match, ENTER .. wanted)
  local names = {}
  for name in pairs(KERNEL_NAMES) do
    if pattern.matches(wanted, name) and pcall(tracepoint_of, name) then names[#names + 1] = name end
  end
  if not ok and #names == 0 then
    -- The message speaks of the tracepoint; the user has named a call.
    local one, message = pcall(core.tracepoint.find, ENTER .. wanted)
    if one then message = found end -- it is there: it is the match that has failed
    if not message:find "no such tracepoint" then error(("%s %s: %s"):format(kind, wanted, message), 0) end
    local close = message:match "; did you mean .*$" or ""
    close = close:gsub("sys_enter_", ""):gsub("sys_exit_", ""):gsub("[%w_]+", NAMES)
    error(("%s %s: the kernel has no such system call%s"):format(kind, wanted, close), 0)
  end
  for _, full in ipairs(ok and found or {}) do
    local name = full:sub(#ENTER + 1)
    if not NAMES[name] then names[#names + 1] = name elseif name == wanted then names[#names + 1] = NAMES[name] end
  end
  table.sort(names)
  return names
end

-- The arguments of the call NAME, as a handler sees them (handler.lua).
function syscall.arguments(name) return arguments_of(tracepoint_of(name)) end

-- The calls of a probe.
local function matches(kind, wanted)
  local names = syscall.names(kind, wanted)
  if #names > MOST then
    error(("%s %s: it matches %d system calls, and each takes a probe of its own, of which %d are too many; " ..
           "\"*\" is one for all"):format(kind, wanted, #names, MOST + 1), 0)
  end
  return names
end

local function declare_calls(provider, spec, given, handler)
  local kind, event = provider.name, provider.event
  local list = declare.specs(spec, kind .. ": the first argument names the system call: \"openat\", \"*\" or a list", 3)
  local given, mine = declare.arguments(provider, table.concat(list, ","), given, handler, 3)
  local taken = claims.taken()
  for _, name in ipairs(list) do -- first: it has all others
    if name == "*" and claims.new(taken):call(event, "*") then declare_any(provider, mine) end
  end
  for _, name in ipairs(list) do
    local ok, message = pcall(declare.readable, mine, function()
      for _, one in ipairs(name == "*" and {} or matches(kind, name)) do
        if claims.new(taken):call(event, KERNEL_NAMES[one] or one) then declare_one(provider, one, mine) end
      end
    end)
    if not ok then error(message, 3) end
  end
  return mine
end

-- A pattern of names: the calls as probes of KIND.
local function list_calls(kind)
  return function(rest, details)
    local entries = {}
    for i, name in ipairs(syscall.names(kind, rest ~= "" and rest or "*")) do
      local arguments = details and argument_types.list(syscall.arguments(name)) or nil
      entries[i] = { probe = ("%s:%s"):format(kind, name), arguments = arguments }
    end
    return entries
  end
end

local REGISTERS = 6 -- that a call has its arguments in

local function is_all(rest) return rest == "*" end

local function hits(kind)
  local list = list_calls(kind)
  return function(rest, _, spec)
    if is_all(rest) then return { { probe = spec, numbered = REGISTERS, of_call = true, of_any = true } } end
    local parts = list(rest, true)
    for _, part in ipairs(parts) do part.of_call = true end
    return parts
  end
end

local function hint(word) return syscall.syscall_number(word) and ("; did you mean syscall:%s?"):format(word) end

local WAYS = { { needs = {}, "the tracepoints of system calls" } }

syscall.providers = {
  syscall = {
    name = "syscall", event = "enter", specified = true, at_return = "sysreturn", ways = WAYS, all = is_all,
    list = list_calls "syscall", hits = hits "syscall", hint = hint,
  },
  sysreturn = {
    name = "sysreturn", event = "exit", specified = true, at_return = "sysreturn", of_return = "call", ways = WAYS,
    all = is_all, list = list_calls "sysreturn", hits = hits "sysreturn",
  },
}

-- syscall(name, handler): HANDLER runs whenever a traced thread makes the system call NAME: "openat", "open*", a list
-- of these, or "*", all of them by one probe. Raises what is wrong with the arguments.
function syscall.syscall(name, given, handler)
  return (declare_calls(syscall.providers.syscall, name, given, handler))
end

-- sysreturn(name, handler): HANDLER runs when the call returns; the entry's arguments are there too. A call that began
-- before it was traced is none of ours.
function syscall.sysreturn(name, given, handler)
  return (declare_calls(syscall.providers.sysreturn, name, given, handler))
end

-- NUMBER, of which WHO wants the name, as a Lua number.
local function check_number(who, number)
  if type(number) ~= "number" and not (ffi.istype("int64_t", number) or ffi.istype("uint64_t", number)) then
    error(("%s: a number is expected, not a %s"):format(who, type(number)), 3)
  end
  return tonumber(number)
end

-- The name of the error NUMBER, as e.ret has it negated: "ENOENT" of 2; "error 4000" where the C library has no name
-- for it.
function syscall.errno_name(number)
  number = check_number("errno_name", number)
  local name = contract.C.strerrorname_np(number)
  return name ~= nil and ffi.string(name) or ("error %d"):format(number)
end

-- The name of the system call NUMBER: "openat"; "syscall 1234" where the headers have none that uplua was built with.
function syscall.syscall_name(number)
  number = check_number("syscall_name", number)
  return core.kernel.syscall_name(number) or ("syscall %d"):format(number)
end

-- The number of the system call NAME, or nil and the reason.
function syscall.syscall_number(name)
  if type(name) ~= "string" then error("syscall_number: the argument is a name, such as \"openat\"", 2) end
  local number = core.kernel.syscall_number(name)
  if number then return number end
  return nil, ("the headers that uplua was built with have no system call '%s'"):format(name)
end

return syscall
