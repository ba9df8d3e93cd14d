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

-- The arguments of any call: registers. They are there at the return, too.
local function registers()
  local list = {}
  for i, offset in ipairs(core.kernel.syscall_registers()) do
    list[i] = { kind = "integer", bits = -64, place = "registers", base = 0, offset = offset }
  end
  return list
end

-- LIST, of arguments_of, with each of them in its register.
local function in_registers(list)
  for i, register in ipairs(registers()) do
    if list[i] then list[i].place, list[i].base, list[i].offset = register.place, register.base, register.offset end
  end
  return list
end

-- Attaches PROGRAM, of a probe of PROVIDER's at all system calls, to the raw tracepoints. FAILS: the return half also
-- where the kernel takes a signal, by which a call fails; before the exit, so that none is missed.
local function attach_raw(provider, program, link, fails)
  local begin, raw = provider.name .. " ", core.kernel.attach_raw_tracepoint
  if program.entry_fd then link(declare.try(begin, 0, raw, program.entry_fd, "sys_enter"), true) end
  if fails then link(declare.try(begin, 0, raw, program.fd, "signal_deliver")) end
  link(declare.try(begin, 0, raw, program.fd, "sys_" .. provider.event))
end

local function declare_any(provider, mine, attempts)
  local event, of_return = provider.event, provider.of_return ~= nil
  declare.probe {
    provider = provider, spec = "*", handle = mine, passed_over = true,
    arguments = registers(), raw = true,
    call = attempts and contract.SYSTEM_CALL_ATTEMPTS or contract.SYSTEM_CALL_ANY,
    where = ("the %s of every system call"):format(event == "enter" and "entry" or event),
    attach = function(_, program, link) attach_raw(provider, program, link, of_return and not attempts) end,
  }
end

local function declare_entry(provider, name, mine)
  local entry, kernel = tracepoint_of(name), KERNEL_NAMES[name] or name
  declare.probe {
    provider = provider, spec = name, symbol = name, handle = mine,
    arguments = arguments_of(entry), passed_over = true,
    where = "the kernel's tracepoint " .. ENTER .. kernel,
    attach = function(_, program, link)
      link(declare.try(provider.name .. " ", 0, entry.attach, entry, program.fd))
    end,
  }
end

-- The returns of rt_sigreturn: where the kernel's tracepoints of single calls stand its number is gone, so its programs
-- stand at all calls, which each of the others takes some 100 ns to pass.
local function declare_signal_returns(provider, name, mine)
  declare.probe {
    provider = provider, spec = name, symbol = name, handle = mine,
    arguments = {}, passed_over = true, raw = true, call = core.kernel.syscall_number(name),
    where = "the entry and the exit of every system call, for " .. name,
    attach = function(_, program, link) attach_raw(provider, program, link, true) end,
  }
end

-- The returns of the call NAME. Where signals are delivered and their handlers end, and where the kernel goes on with
-- calls, the programs stand, too: what becomes of a call that a signal has interrupted is told there.
local function declare_return(provider, name, mine)
  local begin, kernel = provider.name .. " ", KERNEL_NAMES[name] or name
  local entry, exit = tracepoint_of(name), tracepoint_of(name, EXIT)
  local signal, handled = core.tracepoint.find "signal:signal_deliver", tracepoint_of "rt_sigreturn"
  local restarted = name ~= "restart_syscall" and tracepoint_of("restart_syscall", EXIT)
  local function attach_to(link, at, program, of_entry, cookie)
    if at then link(declare.try(begin, 0, at.attach, at, program, cookie), of_entry) end
  end
  declare.probe {
    provider = provider, spec = name, symbol = name, handle = mine,
    arguments = in_registers(arguments_of(entry)), passed_over = true,
    where = ("the kernel's tracepoints %s%s and %s%s, and what signals do to the call"):
      format(ENTER, kernel, EXIT, kernel),
    attach = function(_, program, link)
      attach_to(link, handled, program.entry_fd, true)
      attach_to(link, entry, program.entry_fd, true)
      attach_to(link, signal, program.fd, false, contract.SYSTEM_CALL_AT_SIGNAL)
      attach_to(link, restarted, program.fd)
      attach_to(link, exit, program.fd)
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

local function declare_calls(provider, spec, given, handler, attempts)
  local kind, event = provider.name, provider.event
  local declare_one = provider.of_return and declare_return or declare_entry
  local list = declare.specs(spec, kind .. ": the first argument names the system call: \"openat\", \"*\" or a list", 3)
  local given, mine = declare.arguments(provider, table.concat(list, ","), given, handler, 3)
  local taken = claims.taken()
  for _, name in ipairs(list) do -- first: it has all others
    if name == "*" and claims.new(taken):call(event, "*") then declare_any(provider, mine, attempts) end
  end
  for _, name in ipairs(list) do
    local ok, message = pcall(declare.readable, mine, function()
      for _, one in ipairs(name == "*" and {} or matches(kind, name)) do
        if claims.new(taken):call(event, KERNEL_NAMES[one] or one) then
          local declare_this = provider.of_return and one == "rt_sigreturn" and declare_signal_returns or declare_one
          declare_this(provider, one, mine)
        end
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
-- before it was traced is none of ours. One that a signal interrupts and the kernel makes again returns once.
function syscall.sysreturn(name, given, handler)
  return (declare_calls(syscall.providers.sysreturn, name, given, handler))
end

-- attempts(handler): as sysreturn("*", handler), but of a call that a signal interrupts each attempt returns by itself,
-- with ERESTARTSYS or the like, as strace shows them.
function syscall.attempts(handler)
  return (declare_calls(syscall.providers.sysreturn, "*", nil, handler, true))
end

-- What the kernel tells itself of calls that a signal has interrupted, which no program sees (include/linux/errno.h).
local RESTARTS = {
  [512] = "ERESTARTSYS", [513] = "ERESTARTNOINTR", [514] = "ERESTARTNOHAND", [516] = "ERESTART_RESTARTBLOCK",
}

-- NUMBER, of which WHO wants the name, as a Lua number.
local function check_number(who, number)
  if type(number) ~= "number" and not (ffi.istype("int64_t", number) or ffi.istype("uint64_t", number)) then
    error(("%s: a number is expected, not a %s"):format(who, type(number)), 3)
  end
  return tonumber(number)
end

-- The name of the error NUMBER, as e.ret has it negated: "ENOENT" of 2, and "ERESTARTSYS" of 512, which the kernel
-- tells itself; "error 4000" where there is no name for it.
function syscall.errno_name(number)
  number = check_number("errno_name", number)
  local name = contract.C.strerrorname_np(number)
  return name ~= nil and ffi.string(name) or RESTARTS[number] or ("error %d"):format(number)
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
