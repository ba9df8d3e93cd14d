--[=[
systrace: strace's line for each system call, at a fraction of its price

  uplua systrace.lua [options] [-- PID ... or COMMAND]

prints a line for each system call when it returns: the time, the thread, what strace prints of it, and how long it
took. Those that threads wait in at the end are `<unfinished ...>`. The target is not stopped at any call.

  -c, --count            no lines, but the table of syscalls.lua: how many, how long, which fail, and the errors by name
  -e, --call NAMES       only these calls: names, patterns and groups, 'read,*stat*,%network'; all but these: '!%memory'
  -P, --path PATH        only calls that touch PATH: by its name, or by a descriptor of it
  -Z, --failed           only calls that failed
  -s, --strings N        so many bytes of a buffer (default 32, at most 4096)
  -y, --descriptors      descriptors with their file, pipe or socket: 3</etc/passwd>, 5<TCP:[127.0.0.1:22->…]>
  -S, --signals          signals that are delivered, and ends of threads, as lines, too
  -k, --stack            the program's stack below each line
  -O, --each-process FILE  the lines of each process into a file of its own, FILE.PID
  -b, --buffer SIZE      so much memory for calls that wait to be printed (default 16M)
  -T, --times            as strace knows it: the time that a call took stands behind each line anyway

Groups are %file, %desc, %memory, %network, %process, %signal, %creds, %clock, %stat and %ipc. With
`uplua --follow systrace.lua -- COMMAND` what the command starts is traced, too.

  $ uplua systrace.lua --failed -- git status
--]=]
local up       = require "uplua"
local syscalls = require "uplua.syscalls"
local text     = require "uplua.text"
local view     = require "uplua.view"

local options = up.args {
  "systrace.lua [options] [-- PID ... or COMMAND]",
  { "count,c",                              "no lines, but the table of syscalls.lua" },
  { "call,e",    "NAMES", "string",  false, "only these calls: names, patterns, groups: 'read,*stat*,%network'" },
  { "path,P",    "PATH", "string", false, "only calls that touch PATH, by name or descriptor" },
  { "failed,Z",                             "only calls that failed" },
  { "follow,f",                             "as strace's: here uplua --follow systrace.lua …" },
  { "strings,s", "N",     "integer", 32,    "so many bytes of a buffer", least = 1, most = 4096 },
  { "descriptors,y",                        "descriptors with their file, pipe or socket" },
  { "signals,S",                            "signals and ends of threads, too" },
  { "stack,k",                              "the program's stack below each line" },
  { "each-process,O", "FILE", "string", false, "the lines of each process into FILE.PID" },
  { "buffer,b",  "SIZE",  "size",    "16M", "memory for calls that wait to be printed", least = 4096 },
  { "times,T",                              "taken as strace's: times stand behind each line anyway" },
  arguments = 0,
}

if options.follow then up.args.fail "what a command starts is traced by uplua --follow systrace.lua …" end
if options.count then
  for _, name in ipairs { "path", "descriptors", "signals", "stack", "each-process" } do
    if options[name:gsub("-", "_")] then
      up.args.fail("--%s is about lines, and --count prints none; leave one of them out", name)
    end
  end
  return syscalls.report(options.call or nil, { errors = true, failed = options.failed })
end

local calls = view.stream {
  { "time", "Time", "clock" }, { "comm", "Process", "text", 15 }, { "tid", "TID", "number", 7 }, { "call", "Call" },
}
local chosen = { failed = options.failed, strings = options.strings, stack = options.stack,
                 descriptors = options.descriptors,
                 path = options.path or nil, size = options.buffer, option = "--buffer", signals = options.signals,
                 unfinished = not options.failed and not options.path }

-- The files of --each-process, of the processes that have made calls; some are closed and continued later.
local OPEN = 256
local files, open, made = {}, 0, {}
local function close_all()
  for pid, file in pairs(files) do
    local good, problem = file:close()
    if not good then error(("%s.%d: %s"):format(options.each_process, pid, problem), 0) end
  end
  files, open = {}, 0
end
local function file_of(pid)
  if files[pid] then return files[pid] end
  if open == OPEN then close_all() end
  local name = ("%s.%d"):format(options.each_process, pid)
  local file, problem = io.open(name, made[pid] and "a" or "w")
  if not file then error(problem .. "; --each-process takes the begin of a file's name", 0) end
  files[pid], made[pid], open = file, true, open + 1
  return file
end

local row = {} -- the same for each line: there may be many a second
syscalls.trace(options.call or nil, chosen, function(call)
  row.time, row.comm, row.pid, row.tid, row.name = call.time, call.comm, call.pid, call.tid, call.name
  row.ret, row.elapsed, row.result, row.stack = call.ret, call.elapsed, call.result, call.stack
  row.call = call.elapsed and call.strace .. " <" .. text.time(call.elapsed) .. ">" or call.strace
  if options.each_process then
    file_of(call.pid):write(("%s %d  %s\n%s"):format(up.clock(call.time), call.tid, row.call,
      call.stack and tostring(call.stack) .. "\n" or ""))
    return
  end
  calls:print(row)
end)
if options.each_process then up.at_exit(close_all) end
