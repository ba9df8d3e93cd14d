-- Which system calls are made, how long they take, and which fail: a table, and one of errors, as syscalls.lua and
-- `systrace.lua -c` print them.
local by      = require "uplua.by"
local call    = require "uplua.syscalls.call"
local capture = require "uplua.compile.capture"
local view    = require "uplua.view"

local report = {}

local MOST = 1024 -- the numbers of calls are below that

-- A function for handlers at the return of calls that counts one: into TOOK, SUMS, and errors into FAILED, by WHO.
local function counter(who, sums, took, failed)
  local whose, add, is_failed = who and who.key, sums.add, call.failed
  if not who then
    return capture.inlined(function(e)
      add(e, e.nr)
      took[e.nr]:add(e.elapsed)
      if is_failed(e.ret) then failed[{ e.nr, -e.ret }]:inc() end
    end)
  end
  return capture.inlined(function(e)
    local key = whose(e)
    local k = { e.nr, key }
    add(e, k)
    took[k]:add(e.elapsed)
    if is_failed(e.ret) then failed[{ e.nr, -e.ret, key }]:inc() end
  end)
end

-- Has handlers COUNT the calls of SET (number → call; nil: all) for which WHERE is true; FAILED: only those that fail.
local function add_handlers(set, count, where, failed)
  local up = require "uplua"
  local is_failed, every = call.failed, not failed
  if not set then
    return up.sysreturn("*", function(e)
      if (every or is_failed(e.ret)) and where(e) then count(e) end
    end)
  end
  local chosen = up.array { max = MOST }
  for number in pairs(set) do chosen[number] = 1 end
  up.sysreturn("*", function(e)
    if (chosen[e.nr] or 0) == 1 and (every or is_failed(e.ret)) and where(e) then count(e) end
  end)
end

-- The rows of both tables, of what has been counted since the last.
local function rows_of(who, sums, took, failed)
  local up = require "uplua"
  local rows, of_call, error_rows = {}, {}, {}
  local function name_of(nr, key) return ("%d\0%s"):format(tonumber(nr), who and who:text(key) or "") end
  local wrong, taken = failed:take(), took:take() -- in this order: what has failed was called
  sums:take()
  for k, n in wrong:pairs() do
    local name = name_of(k[1], k[3])
    of_call[name] = (of_call[name] or 0) + n
    local row = { name = up.syscall_name(k[1]), error = up.errno_name(k[2]), n = n }
    error_rows[#error_rows + 1] = who and who:fill(row, k[3]) or row
  end
  for k, h in taken:pairs() do
    local nr, whose = k, nil
    if who then nr, whose = k[1], k[2] end
    local row = {
      name = up.syscall_name(nr), calls = h.count, errors = of_call[name_of(nr, whose)] or 0,
      p50 = h:percentile(50), p90 = h:percentile(90), p99 = h:percentile(99), p999 = h:percentile(99.9), max = h.max,
      sum = h.sum, behind = h,
    }
    sums:fill(row, k)
    rows[#rows + 1] = who and who:fill(row, whose) or row
  end
  return rows, error_rows
end

-- Counts the calls of SET (nil: all) and reports them, by OPTIONS: those of syscalls.report.
function report.report(set, options)
  local up = require "uplua"
  local took, failed = up.hdr(2, { unit = "ns" }), up.count()
  local who = by.new(options.by, { keys = options.keys })
  local sums = by.sums(options.sums)
  add_handlers(set, counter(who, sums, took, failed),
    up.expression(options.where or "true", { name = "--where", kind = "condition" }), options.failed)

  local calls = view.new {
    who and who.columns, { "name", "System call" }, { "calls", "Calls", "count" }, { "errors", "Errors", "count" },
    { "p50", "p50", "ns" }, { "p90", "p90", "ns" }, { "p99", "p99", "ns" }, { "p999", "p99.9", "ns" },
    { "max", "Longest", "ns" }, { "sum", "Total", "ns" }, sums.columns,
    by = "sum", top = options.top,
  }
  local errors = view.new {
    who and who.columns, { "name", "System call" }, { "error", "Error" }, { "n", "Times", "count" },
    by = "n",
  }
  up.report(options.interval, function()
    local rows, error_rows = rows_of(who, sums, took, failed)
    local shown = {}
    if not calls:data(rows) then
      for _, row in ipairs(rows) do row.errors = row.errors > 0 and row.errors or nil end -- to people an empty cell
      shown = calls:print(rows)
    end
    if options.errors and #error_rows > 0 then
      if shown[1] then up.printf("\n") end
      errors:print(error_rows)
    end
  end, { tables = true })
end

return report
