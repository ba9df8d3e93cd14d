-- System calls one by one, as strace shows them.
--
--   local syscalls = require "uplua.syscalls"
--   syscalls.trace("read,*stat*", { failed = true }, function(call) print(call.line) end)
--
-- A call has
--   time, pid, tid, comm   as a handler's event
--   name                   "openat"
--   arguments              { { name, value, text }, … }, by the kernel's names
--   ret, elapsed           nil of calls that do not return, exit and exit_group
--   result                 "3", "-1 ENOENT"; "?" where it does not return
--   stack                  if asked for
--   line                   "openat(dfd=-100, filename="/etc/passwd", flags=0, mode=0) = 3"
local call         = require "uplua.syscalls.call"
local option_table = require "uplua.base.option_table"
local text         = require "uplua.base.text"

local syscalls = {}

local OPTIONS = {
  failed = option_table.boolean, strings = option_table.integer(1, 255), stack = option_table.boolean,
  size = text.size,
}

-- failed(ret): true if RET, what a call returned, is an error; in handlers, too.
syscalls.failed = call.failed

-- What trace's function is called with, of RECORD.
local function event_of(of, record)
  local texts, values = call.texts(of, record)
  local event = {
    time = record.time, pid = record.pid, tid = record.tid, comm = record.comm, name = of.name, arguments = {},
    ret = record.ret, elapsed = record.elapsed, stack = record.stack,
    result = record.ret and call.result(record.ret) or "?", line = call.line(of, record),
  }
  for i, argument in ipairs(of.arguments) do
    event.arguments[i] = { name = argument.name, value = values[i], text = texts[i] }
  end
  return event
end

-- trace(patterns, [options], fn): calls FN with each system call when it returns, in order of time. PATTERNS,
-- "read,*stat*": which; nil: all. Options: failed, only those that fail; strings, so many bytes of a text (64); stack,
-- with the program's; size, of the ring ("16M"). Raises names that are none.
function syscalls.trace(patterns, options, fn)
  options, fn = option_table.split(options, fn)
  if type(fn) ~= "function" then
    error("syscalls.trace: the last argument is a function; options stand before it", 2)
  end
  if patterns ~= nil and type(patterns) ~= "string" then
    error("syscalls.trace: the first argument is names, \"read,*stat*\", or nil for all", 2)
  end
  options = option_table.read("syscalls.trace", options, OPTIONS)
  local up = require "uplua"
  local ring, calls = up.ring { size = options.size or "16M" }, call.set(patterns)
  local emit = call.emitter(ring, calls, { strings = options.strings, stack = options.stack })
  local failed_only = options.failed or false
  up.sysreturn("*", function(e)
    if not failed_only or call.failed(e.ret) then emit(e) end
  end)
  for _, name in ipairs(failed_only and {} or { "exit_group", "exit" }) do -- these do not return
    if calls[up.syscall_number(name)] then
      up.syscall(name, function(e)
        ring:emit { time = e.time, pid = e.pid, tid = e.tid, comm = e.comm, nr = e.nr, a1 = e.arg0 }
      end)
    end
  end
  ring:each(function(record) fn(event_of(calls[tonumber(record.nr)], record)) end)
end

return syscalls
