-- System calls one by one, as strace shows them: of one that a signal has interrupted each attempt.
--
--   local syscalls = require "uplua.syscalls"
--   syscalls.trace("read,%file", { failed = true }, function(call) print(call.strace) end)
--
-- A call has
--   time, pid, tid, comm   as a handler's event
--   name                   "openat"
--   strace                 'openat(AT_FDCWD, "/etc/passwd", O_RDONLY|O_CLOEXEC) = 3'
--   arguments              { { name, value, text }, … }, by the kernel's names
--   ret, elapsed           nil of calls that do not return, exit and exit_group
--   result                 "3", "-1 ENOENT"; "?" where it does not return
--   stack                  if asked for
--   unfinished             true of one that was under way when tracing ended: it has time, pid, tid, comm, name, strace
--   line                   'openat(dfd=AT_FDCWD, filename="/etc/passwd", flags=O_RDONLY|O_CLOEXEC, mode=0) = 3'
-- It is valid until the function returns: the next call is the same table.
local call         = require "uplua.syscalls.call"
local chosen       = require "uplua.syscalls.chosen"
local decode       = require "uplua.syscalls.decode"
local descriptors  = require "uplua.descriptors"
local happenings   = require "uplua.syscalls.happenings"
local option_table = require "uplua.base.option_table"
local records      = require "uplua.syscalls.records"
local report       = require "uplua.syscalls.report"
local syscall      = require "uplua.probe.providers.syscall"
local text         = require "uplua.base.text"
local touched      = require "uplua.syscalls.touched"
local unfinished   = require "uplua.syscalls.unfinished"

local syscalls = {}

local STRINGS = 64 -- bytes of a buffer that are taken, where nobody asks for another number
local OPTIONS = {
  descriptors = option_table.boolean, path = option_table.text, signals = option_table.boolean,
  unfinished = option_table.boolean,
  failed = option_table.boolean, strings = option_table.integer(1, 4096), stack = option_table.boolean,
  size = text.size, option = option_table.text,
}

-- failed(ret): true if RET, what a call returned, is an error; in handlers, too.
syscalls.failed = call.failed

-- A call that has only registers: VALUE is the argument at PLACE; the others have all flags set.
local function of_value(of, place, value)
  local c = decode.new(of, STRINGS)
  for i = 1, 6 do c[i] = -1 end
  c[place] = value
  return c
end

-- text(name, argument, value): how strace shows VALUE as an argument of the call NAME: "O_RDONLY|O_CLOEXEC" of
-- ("openat", "flags", 0x80000). ARGUMENT is the kernel's name of it, or its place, from 1 on. What it points to is not
-- read. Raises names that are none.
function syscalls.text(name, argument, value)
  if type(name) ~= "string" or name:find "[^%w_]" then
    error("syscalls.text: the first argument is the name of a system call, such as \"openat\"", 2)
  end
  local ok, set = pcall(chosen.set, name, call.show_of)
  if not ok then error("syscalls.text: " .. tostring(set), 2) end
  local _, of = next(set)
  local place, names = argument, {}
  for i, one in ipairs(of.arguments) do
    if one.name == argument then place = i end
    names[i] = one.name
  end
  if not of.arguments[place] then
    error(("syscalls.text: %s has no argument %s; it has %s"):format(name, tostring(argument),
      #names > 0 and table.concat(names, ", ") or "none"), 2)
  end
  local c = of_value(of, place, value)
  local decoder = of.decoders[place]
  local shown = decoder and decoder(c, place)
  return shown or of.arguments[place].show(value)
end

-- Whether the call NAME, which this CPU may not have, is one of SET.
local function is_in(set, name)
  local number = require "uplua".syscall_number(name)
  return number and set[number] ~= nil or false
end

-- Has handlers tell by RING which files the descriptors are that the calls of SET are given and make, WITH_CWD also the
-- directory that paths begin at. These stand before those that emit the calls.
local function add_files(ring, set, files, with_cwd, strings)
  local up = require "uplua"
  local plans = up.array { max = 1024 }
  for number, of in pairs(set) do plans[number] = with_cwd and of.descriptors_and_cwd or of.descriptors or 0 end
  local before, after = records.files_at_entry(ring, plans, files), records.files_at_return(ring, plans, files)
  up.syscall("*", function(e) before(e) end)
  syscall.attempts(function(e) after(e) end)
  local polled, selected = records.polled_files(ring, files, strings), records.selected_files(ring, files)
  local passed_on = records.passed_at_entry(ring, files)
  for _, one in ipairs {
    { "poll", polled }, { "ppoll", polled }, { "select", selected }, { "pselect6", selected }, { "sendmsg", passed_on },
  } do
    local name, emit = one[1], one[2]
    if is_in(set, name) then up.syscall(name, function(e) emit(e) end) end
  end
  local passed = records.passed_at_return(ring, files)
  if is_in(set, "recvmsg") then up.sysreturn("recvmsg", function(e) passed(e) end) end
end

-- trace(patterns, [options], fn): calls FN with each system call when it returns, in order of time. PATTERNS,
-- "read,*stat*", "%file" or "!%memory": which; nil: all. Options: failed, only those that fail; strings, so many bytes
-- of a buffer (64); stack, with the program's; descriptors, with their files, as strace -yy; path, only
-- calls that touch it, by its name or a descriptor; signals, these and the ends of threads, too; unfinished, at the end
-- those that threads of the target, or that have made calls, wait in; size, of the ring ("16M"). Raises names that are
-- none.
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
  local strings = options.strings or STRINGS
  local ring = up.ring { size = options.size or "16M", option = options.option }
  local set = chosen.set(patterns, call.show_of)
  local plans, entries, any = up.array { max = 1024 }, up.array { max = 1024 }, false
  local specials, special = up.array { max = 1024 }, false
  for number, of in pairs(set) do
    if of.special then specials[number], special = of.plan, true else plans[number] = of.plan end
    if of.entry_plan then entries[number], any = of.entry_plan, true end
  end
  local files = (options.descriptors or options.path) and descriptors.new() or nil
  if files then add_files(ring, set, files, options.path, strings) end
  local beyond = patterns and 0LL or records.plan {}
  local emit = records.emitter(ring, plans, beyond, { strings = strings, stack = options.stack })
  local failed_only = options.failed or false
  syscall.attempts(function(e)
    if not failed_only or call.failed(e.ret) then emit(e) end
  end)
  if special then
    local emit_special = records.special_emitter(ring, specials, { strings = strings, stack = options.stack })
    syscall.attempts(function(e)
      if not failed_only or call.failed(e.ret) then emit_special(e) end
    end)
  end
  if any then
    local begin = records.entry_emitter(ring, entries)
    up.syscall("*", function(e) begin(e) end)
  end
  for _, name in ipairs(failed_only and {} or { "exit_group", "exit" }) do -- these do not return
    if set[up.syscall_number(name)] then
      up.syscall(name, function(e)
        ring:emit { time = e.time, pid = e.pid, tid = e.tid, comm = e.comm, nr = e.nr, a1 = e.arg0 }
      end)
    end
  end
  if options.signals then happenings.emit(ring) end
  local read = decode.reader(set, { strings = strings, files = options.descriptors and files })
  local wanted = options.path and touched.wanted(options.path)
  local open = options.unfinished and
    unfinished.new(set, { strings = strings, descriptors = options.descriptors and true or false })
  ring:each(function(record)
    local c = read(record)
    if c and open then open.saw(c.tid, c.pid, c.time, not c.ret and c.name ~= "signal") end
    if c and (not wanted or not c.of or touched.by(c, wanted, files)) then fn(c) end
  end)
  if open then
    up.at_stop(open.find)
    up.at_exit(function() open.each(fn) end)
  end
end

local texts = option_table.check("a list of texts", function(list) return type(list) == "table" and list or nil end)
local function any(value) return value end
local REPORT = {
  by = option_table.text, keys = texts, sums = texts, where = option_table.text, failed = option_table.boolean,
  errors = option_table.boolean, interval = any, top = option_table.integer(0, 2 ^ 53),
}

-- report(patterns, [options]): counts the calls that PATTERNS mean, as those of trace, and reports for each how many
-- there were, how many failed, the percentiles of the time that it took, and the time in all, the most first. Options:
-- by, keys and sums, as users give them with --by, --key and --sum (uplua.by); where, a condition of the event as text;
-- failed, only those that fail; errors, these by name in a second table; interval, of the report (up.report); top, so
-- many rows. Those that are false count as not given. Raises names that are none.
function syscalls.report(patterns, options)
  if patterns ~= nil and type(patterns) ~= "string" then
    error("syscalls.report: the first argument is names, \"read,*stat*\", or nil for all", 2)
  end
  options = option_table.read("syscalls.report", option_table.named(options or {}), REPORT)
  report.report(patterns and chosen.set(patterns, call.show_of), options)
end

return syscalls
