-- What uplua.syscalls and uplua.trace show of system calls: the set of calls that patterns mean, the handler that emits
-- their records, and a record as texts: arguments by the kernel's names, what failed by the error's name.
--
-- A call is { name, arguments = { { name, show = a function of its value, text = true where it is one }, … } }, in the
-- order of the registers. A text that a call reads is valid before the call; a text that it writes is valid when it
-- returns. So texts are taken at the return.
local bit     = require "bit"
local capture = require "uplua.compile.capture"
local list    = require "uplua.run.list"
local syscall = require "uplua.probe.providers.syscall"
local text    = require "uplua.base.text"

local call = {}

local STRINGS = 64 -- bytes of a text that are taken, where nobody asks for another number
local MOST = 1024 -- the numbers of calls are below that: the newest has 469 (Linux 6.18)
-- When these return without an error, the memory of the program that called is no more.
local GONE = { execve = true, execveat = true }
-- These return how many bytes they have put there.
local WRITTEN = { read = true, pread64 = true, readlink = true, readlinkat = true, getrandom = true }
local GIVEN   = { write = true, pwrite64 = true } -- the third argument is how many there are

-- True if RET, what a call returned, is an error. In handlers, too.
call.failed = capture.inlined(function(ret) return ret < 0 and ret > -4096 end)

-- is_gone(name, ret): whether texts of the call NAME cannot be read at its return, by what it returned.
function call.is_gone(name, ret) return GONE[name] ~= nil and tonumber(ret) == 0 end

local function show_hex(value)
  if type(value) == "number" and value >= 0 then return ("0x%x"):format(value) end
  return text.format("%#x", value)
end

-- Large numbers are mostly addresses, and flags.
local function show_integer(value)
  if type(value) == "number" and value < 2 ^ 32 then return ("%d"):format(value) end
  return value >= 2 ^ 32 and show_hex(value) or text.integer(value)
end

local function show_pointer(value) return value == 0 and "NULL" or show_hex(value) end

-- How ARGUMENT of a call, as up.list has it, is shown: a function of its value, which may be a whole register's: they
-- are wider than most types, and a descriptor of -1 is 4294967295 in some of the kernel's tables.
function call.show_of(argument)
  local builtin = require "uplua.compile.builtin"
  local sign, bits = argument.type:match "^([iu])(%d+)$"
  if argument.source:find "%*$" or not bits then return show_pointer end
  local cut = argument.name:find "fd$" and builtin.i32 or builtin[sign .. bits]
  return function(value) return show_integer(cut(value)) end
end

-- The call NAME of ARGUMENTS, as up.list has them.
local function known(name, arguments)
  local of, texts = { name = name, arguments = {}, strings = STRINGS }, 0
  for i, argument in ipairs(arguments) do
    local is_text = argument.source:find "char %*$" ~= nil and texts < 2 and not GONE[name]
    if is_text then texts = texts + 1 end
    local constant = argument.source:find "^const" ~= nil
    of.arguments[i] = { name = argument.name, show = call.show_of(argument), text = is_text, constant = constant }
  end
  return of
end

-- One that is newer than the names that uplua knows, or without a tracepoint.
local function unknown(number)
  local of = { name = syscall.syscall_name(number), arguments = {}, strings = STRINGS }
  for i = 1, 6 do of.arguments[i] = { name = "arg" .. i - 1, show = show_pointer } end
  return of
end

-- The calls that PATTERNS mean, "read,*stat*": number → call. nil: all numbers. Raises that there is no such call.
function call.set(patterns)
  local set = {}
  for pattern in (patterns or "*"):gmatch "[^,]+" do
    for _, entry in ipairs(list.list("syscall:" .. pattern, true)) do
      local name = entry.probe:match ":(.*)$"
      local number = syscall.syscall_number(name)
      if number and number < MOST then set[number] = known(name, entry.arguments or {}) end
    end
  end
  if patterns then return set end
  for number = 0, MOST - 1 do set[number] = set[number] or unknown(number) end
  return setmetatable(set, { __index = function(_, number) return unknown(number) end }) -- a program may ask for any
end

-- Which arguments of OF are texts, for a handler: the first one's place, 16 times the second's, and 256.
local function plan_of(of)
  local plan, unit = 256, 1
  for i, argument in ipairs(of.arguments) do
    if argument.text then plan, unit = plan + i * unit, unit * 16 end
  end
  return plan
end

local argument_at = capture.inlined(function(e, place)
  if place == 1 then return e.arg0 end
  if place == 2 then return e.arg1 end
  if place == 3 then return e.arg2 end
  return e.arg3
end)

-- The stack that OPTIONS ask for, as a function for handlers; nil where they ask for none.
local function stack_by(options)
  if options.stack and options.kernel then return capture.inlined(function(e) return e:stack() end) end
  if options.kernel then return capture.inlined(function(e) return e:kstack() end) end
  if options.stack then return capture.inlined(function(e) return e:ustack() end) end
  return capture.inlined(function(_) return nil end)
end

-- A function for handlers at the return of all system calls, up.sysreturn("*"), which emits those of SET into RING:
-- records that call.line and call.texts read, { id, time, pid, tid, comm, nr, a1 … a6, first, second (texts), ret,
-- elapsed, stack }. Options: strings, so many bytes of a text (64); id (0); stack, with the program's; kernel, with the
-- kernel's.
function call.emitter(ring, set, options)
  local up = require "uplua"
  options = options or {}
  local strings = options.strings or STRINGS
  local size, id, plans, stack_of = strings + 1, options.id or 0, up.array { max = MOST }, stack_by(options)
  for number, of in pairs(set) do
    plans[number] = plan_of(of)
    of.strings = strings
  end
  local beyond = set[MOST] and 256 or 0
  return capture.inlined(function(e)
    local plan = plans[e.nr] or beyond
    local first, second = bit.band(plan, 15), bit.band(bit.rshift(plan, 4), 15)
    if second ~= 0 then
      ring:emit { id = id, time = e.time, pid = e.pid, tid = e.tid, comm = e.comm, nr = e.nr, a1 = e.arg0, a2 = e.arg1,
                  a3 = e.arg2, a4 = e.arg3, a5 = e.arg4, a6 = e.arg5, ret = e.ret, elapsed = e.elapsed,
                  stack = stack_of(e),
                  first = up.str(argument_at(e, first), size), second = up.str(argument_at(e, second), size) }
    elseif first ~= 0 then
      ring:emit { id = id, time = e.time, pid = e.pid, tid = e.tid, comm = e.comm, nr = e.nr, a1 = e.arg0, a2 = e.arg1,
                  a3 = e.arg2, a4 = e.arg3, a5 = e.arg4, a6 = e.arg5, ret = e.ret, elapsed = e.elapsed,
                  stack = stack_of(e),
                  first = up.str(argument_at(e, first), size) }
    elseif plan ~= 0 then
      ring:emit { id = id, time = e.time, pid = e.pid, tid = e.tid, comm = e.comm, nr = e.nr, a1 = e.arg0, a2 = e.arg1,
                  a3 = e.arg2, a4 = e.arg3, a5 = e.arg4, a6 = e.arg5, ret = e.ret, elapsed = e.elapsed,
                  stack = stack_of(e) }
    end
  end)
end

-- VALUE, read at an argument of the call NAME, as a text in quotes: STRINGS bytes of it at most, and "…" behind them
-- where there were more. Of these only so many as belong to the call: what it has put there, if the argument is not
-- CONSTANT, or COUNT, its third argument.
function call.quoted(name, constant, value, strings, ret, count)
  local bytes = tonumber(WRITTEN[name] and not constant and ret or GIVEN[name] and count)
  if bytes and (bytes <= strings or #value <= strings) then value = value:sub(1, math.max(0, bytes)) end
  return '"' .. text.escape(value):gsub('"', '\\"') .. '"'
end

local REGISTERS = { "a1", "a2", "a3", "a4", "a5", "a6" }

-- The arguments of RECORD, of the call OF, as a list of texts, and as one of values. A text that could not be read is
-- shown as its address.
function call.texts(of, record)
  local texts, values, field = {}, {}, "first"
  for i, argument in ipairs(of.arguments) do
    local value
    if argument.text then value, field = record[field], "second" end
    values[i] = value or record[REGISTERS[i]]
    texts[i] = value and call.quoted(of.name, argument.constant, value, of.strings, record.ret, record.a3)
      or argument.show(values[i])
  end
  return texts, values
end

-- What a call returned, RET, as a text: "3", "-1 ENOENT".
function call.result(ret)
  if call.failed(ret) then return "-1 " .. syscall.errno_name(-ret) end
  return show_integer(ret)
end

-- RECORD, of the call OF, as a line: "openat(dfd=-100, filename="/etc/passwd", flags=0, mode=0) = 3"; "= ?" where it
-- does not return.
function call.line(of, record)
  local words = call.texts(of, record)
  for i, argument in ipairs(of.arguments) do words[i] = argument.name .. "=" .. words[i] end
  return of.name .. "(" .. table.concat(words, ", ") .. ") = " .. (record.ret and call.result(record.ret) or "?")
end

return call
