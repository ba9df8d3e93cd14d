--[=[
watchpoint: who changes a variable, from which value to which?

  uplua watchpoint.lua [options] WHAT [-- PID ... or COMMAND]

prints a line for each access to WHAT, a variable (./app:counter) or an address of the process: the time, the thread,
the value before and after, and the function that did it. At the end how often each function did.

      --kind KIND        w: writes (default); rw: reads, too
      --size N           bytes that are watched: 1, 2, 4 or 8 (default: the variable's)
      --changed          only where the value is another one than before
  -S, --stack            with the stack
  -q, --quiet            only the numbers at the end

The CPU watches four places at most. The value before is the one after the last access that was seen; of the first it is
not known. The kernel's accesses, as in read(2), are seen by some CPUs only. Where a trial finds that this machine's
debug registers end programs or see nothing, it is refused (--trust-watchpoints).

  $ uplua watchpoint.lua --stack ./app:state -- 4242
--]=]
local up    = require "uplua"
local text  = require "uplua.text"
local view  = require "uplua.view"

local options = up.args {
  "watchpoint.lua [options] WHAT [-- PID ... or COMMAND]",
  { "kind",   "KIND", "string",  "w",   "w: writes; rw: reads, too" },
  { "size",   "N",    "integer", false, "bytes that are watched: 1, 2, 4 or 8" },
  { "changed",                          "only where the value is another one" },
  { "stack,S",                          "with the stack" },
  { "quiet,q",                          "only the numbers at the end" },
  arguments = 1,
}
if #options ~= 1 then up.args.fail "what is to be watched? Give a variable, such as ./app:counter" end
if options.kind ~= "w" and options.kind ~= "rw" then up.args.fail("--kind: w or rw, not '%s'", options.kind) end

local before  = up.hash { max = 65536 } -- { process, address } → the value
local changes = up.ring { size = "16M" }
local by      = up.count()              -- { function, changed } → how often

local only_changed, quiet = options.changed, options.quiet
local function stack(e) return nil end
if options.stack then function stack(e) return e:ustack() end end

local what = tonumber(options[1]) or options[1]
up.watch(what, { options.kind, size = options.size or nil }, function(e)
  local value, key = e.value, { e.pid, e.addr }
  local known = before[key]
  local old = known or 0
  local is_new = not known or old ~= value
  before[key] = value
  if is_new or not only_changed then
    by[{ up.sym(e.ip), is_new }]:inc()
    if not quiet then
      changes:emit { at = e.time, pid = e.pid, tid = e.tid, comm = e.comm, known = known ~= nil, old = old, new = value,
                     func = up.sym(e.ip), stack = stack(e) }
    end
  end
end)

if not options.quiet then
  local lines = view.stream {
    { "at", "Time", "clock" }, { "tid", "TID", "number", 8 }, { "comm", "Process", "text", 15 },
    { "old", "Before", "text", 20 }, { "new", "After", "text", 20 }, { "func", "By" },
  }
  lines:titles()
  changes:each(function(r)
    lines:print { at = r.at, tid = r.tid, comm = r.comm, old = r.known and text.integer(r.old) or "?",
                  new = text.integer(r.new), func = tostring(r.func), stack = r.stack }
  end)
end

local functions = view.new {
  { "n", "Accesses", "count" }, { "changed", "Changes", "count" }, { "func", "By" }, by = "n",
}

up.at_exit(function()
  local rows = {}
  for key, n in by:pairs() do
    local name = tostring(key[1])
    local row = rows[name] or { func = name, n = 0, changed = 0 }
    row.n, row.changed, rows[name] = row.n + n, row.changed + (key[2] and n or 0), row
  end
  local list = {}
  for _, row in pairs(rows) do list[#list + 1] = row end
  functions:print(list)
end)
