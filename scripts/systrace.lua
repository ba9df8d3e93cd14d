--[=[
systrace: strace's line for each system call, at a fraction of its price

  uplua systrace.lua [options] [-- PID ... or COMMAND]

prints a line for each system call when it returns: the time, the thread, the arguments by name, what it returned or the
error's name, and how long it took. The target is not stopped at any call.

  -e, --call NAME        only calls whose name is NAME, or has what the pattern means ('*stat*'); several: 'read,write'
  -f, --failed           only calls that failed
  -s, --strings N        so many bytes of a string (default 64, at most 255)

With `uplua --follow systrace.lua -- COMMAND` what the command starts is traced, too. Arguments that are structures are
shown as addresses.

  $ uplua systrace.lua --failed -- git status
--]=]
local up    = require "uplua"
local trace = require "uplua.trace"

local options = up.args {
  "systrace.lua [options] [-- PID ... or COMMAND]",
  { "call,e",    "NAME", "string",  false, "only calls of this name, or pattern; several: read,write" },
  { "failed,f",                            "only calls that failed" },
  { "strings,s", "N",    "integer", 64,    "so many bytes of a string", least = 1, most = 255 },
  arguments = 0,
}

local LONGEST = options.strings + 1
local calls   = up.ring { size = "16M" }
local wanted  = up.array { max = 1024 } -- call number → 1 where it is
local texts   = up.array { max = 1024 } -- call number → which arguments are strings: the first, and 16 times the second, from 1 on
local of_call = {}                      -- call number → { name, arguments = { { name, show }, … } }

-- Large numbers are mostly addresses, and flags.
local function show_integer(value)
  if value >= 2 ^ 32 then return ("0x%x"):format(up.u64(value)) end
  return ("%d"):format(tonumber(value))
end

local function show_pointer(value) return value == 0 and "NULL" or ("0x%x"):format(up.u64(value)) end

-- How ARGUMENT of a call is shown. Registers are wider than most types, and a descriptor of -1 is 4294967295 in some of the kernel's tables.
local function shower(argument)
  local sign, bits = argument.type:match "^([iu])(%d+)$"
  if argument.source:find "%*$" or not bits then return show_pointer end
  local cut = argument.name:find "fd$" and up.i32 or up[sign .. bits]
  return function(value) return show_integer(cut(value)) end
end

local GONE = { execve = true, execveat = true } -- when these return, the memory of the program that called is no more

-- What a call reads is a string before it is made; what it writes, when it returns.
for pattern in (options.call or "*"):gmatch "[^,]+" do
  for _, entry in ipairs(up.list("syscall:" .. pattern, true)) do
    local name = entry.probe:match ":(.*)$"
    local number = up.syscall_number(name)
    if number and number < 1024 then
      local call, found, place = { name = name, arguments = {} }, 0, 1
      for i, argument in ipairs(entry.arguments or {}) do
        call.arguments[i] = { name = argument.name, type = argument.source, show = shower(argument) }
        if argument.source:find "char %*$" and place <= 16 and not GONE[name] then found, place = found + i * place, place * 16 end
      end
      of_call[number], wanted[number], texts[number] = call, 1, found
    end
  end
end

-- Calls that are newer than the names that uplua knows, and those without a tracepoint.
for number = 0, options.call and -1 or 1023 do
  if not of_call[number] then
    local call = { name = up.syscall_name(number), arguments = {} }
    for i = 1, 6 do call.arguments[i] = { name = "arg" .. i - 1, show = show_pointer } end
    of_call[number], wanted[number] = call, 1
  end
end

local function argument(e, i)
  if i == 1 then return e.arg0 end
  if i == 2 then return e.arg1 end
  if i == 3 then return e.arg2 end
  return e.arg3
end

local failed_only = options.failed

up.sysreturn("*", function(e)
  if wanted[e.nr] == 1 and (not failed_only or (e.ret < 0 and e.ret > -4096)) then
    local which = texts[e.nr] or 0
    if which == 0 then
      calls:emit { at = e.time, tid = e.tid, comm = e.comm, nr = e.nr, a = e.arg0, b = e.arg1, c = e.arg2, d = e.arg3, e = e.arg4, f = e.arg5,
                   ret = e.ret, ns = e.elapsed }
    elseif which < 16 then
      calls:emit { at = e.time, tid = e.tid, comm = e.comm, nr = e.nr, a = e.arg0, b = e.arg1, c = e.arg2, d = e.arg3, e = e.arg4, f = e.arg5,
                   ret = e.ret, ns = e.elapsed, first = up.str(argument(e, which), LONGEST) }
    else
      calls:emit { at = e.time, tid = e.tid, comm = e.comm, nr = e.nr, a = e.arg0, b = e.arg1, c = e.arg2, d = e.arg3, e = e.arg4, f = e.arg5,
                   ret = e.ret, ns = e.elapsed, first = up.str(argument(e, which % 16), LONGEST), second = up.str(argument(e, which / 16), LONGEST) }
    end
  end
end)

-- These do not return.
for _, name in ipairs { "exit_group", "exit" } do
  if not failed_only and of_call[up.syscall_number(name)] then
    up.syscall(name, function(e) calls:emit { last = e.time, tid = e.tid, comm = e.comm, nr = e.nr, a = e.arg0 } end)
  end
end

local REGISTERS = { "a", "b", "c", "d", "e", "f" }

local function show_text(text, call, argument, record)
  return '"' .. up.escape(trace.moved(call.name, argument.type, text, record.ret, record.c)):gsub('"', '\\"') .. '"'
end

local function words_of(call, record, which)
  local words = {}
  for i, argument in ipairs(call.arguments) do
    local text
    if which % 16 == i then text = record.first elseif which >= 16 and math.floor(which / 16) == i then text = record.second end
    words[i] = ("%s=%s"):format(argument.name, text and show_text(text, call, argument, record) or argument.show(record[REGISTERS[i]]))
  end
  return table.concat(words, ", ")
end

local function result_of(ret)
  if ret < 0 and ret > -4096 then return "-1 " .. up.error_name(-ret) end
  return show_integer(ret)
end

calls:each(function(record)
  local number = tonumber(record.nr)
  local call = of_call[number]
  if record.last then
    up.printf("%s  %-15s %7d  %s(%s=%s) = ?\n", up.clock(record.last), up.escape(record.comm), record.tid, call.name, call.arguments[1].name, show_integer(record.a))
  else
    local which = tonumber(texts[number] or 0)
    up.printf("%s  %-15s %7d  %s(%s) = %s <%s>\n", up.clock(record.at), up.escape(record.comm), record.tid, call.name,
      words_of(call, record, (which >= 16 and record.second ~= nil or which < 16 and which > 0) and which or which % 16), result_of(record.ret),
      up.seconds(tonumber(record.ns) / 1e9))
  end
end)
