--[=[
stat: how often does each of several things happen, second by second?

  uplua stat.lua [options] SPEC ... [-- PID ... or COMMAND]

prints a line each second with the hits of each spec since the line before, and the sums at the end. What was counted
since the last whole second is a line that tells how long that was.

      --ratio [NAME=]A/B a column with the ratio of two others, such as page-faults/context-switches; what is none yet
                         is counted for it, both at the same times; may be repeated
  -b, --by WHAT          a table by WHAT at the end instead: cpu, process, thread, cgroup, container, or an expression
                         of the event such as e.uid
  -i, --interval TIME    a line each TIME (default 1s); with --by a table each TIME, too
      --live             a table with a row for each spec instead of lines: in the last interval, a second, in all; on a
                         terminal it lives
      --count N          ends after N lines or tables
  -n, --top N            of --by the N with the largest numbers in the first column (default 0: all)

A spec is libc:malloc, syscall:openat, kprobe:vfs_read, tracepoint:sched:sched_switch, usdt:./app:shop:sold, or an event
that the kernel counts: perf:instructions, perf:page-faults, perf:context-switches. What a pattern names is one column.
Several events with commas, perf:instructions,cycles, are a group: they are counted at the same times. Of these two
there is the ratio IPC, and of misses with all accesses the share of misses, without being asked for.
Without a period events cost nothing: the kernel counts them, and no handler runs. By process and thread it counts for a
target, by CPU without one; for the rest of --by handlers count events of software.
Where the CPU has too few counters for all events, each counts for a share of the time: 2,470,000 (82.3 %) is scaled up.

  $ uplua stat.lua libc:malloc libc:free syscall:'*' perf:page-faults -- redis-server
  $ uplua stat.lua --by cpu --ratio cache-misses/instructions perf:instructions,cycles
--]=]
local up   = require "uplua"
local by   = require "uplua.by"
local stat = require "uplua.stat"
local text = require "uplua.text"
local view = require "uplua.view"

local options = up.args {
  "stat.lua [options] SPEC ... [-- PID ... or COMMAND]",
  { "ratio",      "[NAME=]A/B", "string", false, "a column with the ratio of two others", several = true },
  by.option,
  { "live",                                   "a table with a row for each spec" },
  { "interval,i", "TIME", "duration", false, "a line each TIME (default 1s)", least = "10ms" },
  { "count",      "N",    "integer",  false, "end after N lines", least = 1 },
  { "top,n",      "N",    "integer",  0,     "of --by the N with the largest numbers; 0: all" },
}
if #options == 0 and #options.ratio == 0 then
  up.args.fail "no probes to count: give specs, such as syscall:openat or perf:page-faults"
end
if options.live and options.by then up.args.fail "--live: a table of --by lives with --interval; leave out --live" end

local counts = stat.new(options, { ratios = options.ratio, by = options.by or nil })
local since, began, times = nil, nil, 0

local function counted_one()
  times = times + 1
  if times == options.count then up.exit() end
end

-- --- lines ---

local LEAST_WIDTH = 11

local function shown_ratio(value, unit)
  if not value then return "" end
  return unit == "percent" and ("%.1f %%"):format(value) or ("%.2f"):format(value)
end

-- Numbers as they were counted; those that are scaled with their share, as perf stat shows them.
local function shown(n, share)
  if not n then return "not counted" end
  return text.thousands(n) .. (share < 1 and (" (%.1f %%)"):format(math.min(99.9, 100 * share)) or "")
end

local function print_line(head, cells, rest)
  local padded = {}
  for i, column in ipairs(counts.columns) do
    padded[i] = ("%" .. math.max(#text.escape(column[2]), LEAST_WIDTH) .. "s"):format(cells[i])
  end
  local line = ("%-15s  %s%s"):format(head, table.concat(padded, "  "), rest or "")
  up.printf("%s\n", (line:gsub(" +$", "")))
  io.stdout:flush()
end

-- Prints ROW, whose columns have SHARES of the time, under HEAD.
local function print_row(head, row, shares, rest)
  local cells = {}
  for i, column in ipairs(counts.columns) do
    local title, unit = column[1], column[3]
    cells[i] = i <= #counts.titles and shown(row[title], shares[title] or 1) or shown_ratio(row[title], unit)
  end
  print_line(head, cells, rest)
end

-- COLUMNS, and those of what is counted.
local function with_counts(columns)
  columns[#columns + 1] = counts.columns
  return columns
end

local sums, least = {}, {} -- of all lines, and the least share of the time of each column

-- What was counted since the last line, added to the sums; and how long that is.
local function take()
  local now = up.now()
  local row, shares, any = counts:take()
  for _, title in ipairs(counts.titles) do
    if row[title] then sums[title] = (sums[title] or 0) + row[title] end
    least[title] = math.min(least[title] or 1, shares[title])
  end
  row.time, row.interval = now, tonumber(now - since)
  since = now
  return row, shares, any
end

local function declare_lines()
  local as_data = view.stream(with_counts { { "time", "Time", "clock" }, { "interval", "Interval", "ns" } })
  local sums_as_data = view.new(with_counts { { "interval", "Interval", "ns" } })
  -- PARTIAL: an interval is not over.
  local function print_counts(partial)
    local row, shares, any = take()
    if partial and not any then return end
    if view.is_data() then return as_data:print(row) end
    print_row(up.clock(row.time), row, shares, partial and ("  in %s"):format(text.time(row.interval)))
  end
  local function begin()
    local titles = {}
    for i, column in ipairs(counts.columns) do titles[i] = text.escape(column[2]) end
    if view.is_data() then as_data:titles() else print_line("Time", titles) end
  end
  local function finish()
    if not since then return end
    counts:ratios(sums).interval = tonumber(since - began)
    if not sums_as_data:data({ sums }, "Sum") then print_row("Sum", sums, least) end
  end
  return begin, print_counts, finish
end

-- --- tables ---

local function heading(row, partial)
  return ("%s  in %s%s"):format(up.clock(row.time), text.time(row.interval), partial and ", where it ended" or "")
end

-- A row for each spec.
local function declare_live()
  local specs = view.new {
    { "title", "Spec" }, { "n", "Hits", "count" }, { "rate", "Per second", "count" }, { "sum", "In all", "count" },
    { "ratio", "Ratio" },
  }
  return nil, function(partial)
    local before = since
    local row = take()
    local rows, all = {}, counts:ratios(sums)
    for i, column in ipairs(counts.columns) do
      local title, n = column[1], row[column[1]]
      if i <= #counts.titles then
        rows[i] = { title = title, n = n, rate = n and math.floor(n / row.interval * 1e9 + 0.5), sum = all[title] }
      else
        rows[i] = { title = title, ratio = shown_ratio(n, column[3]) }
      end
    end
    specs:refresh(rows, heading(row, partial), before, since)
  end
end

local function declare_by()
  local columns = with_counts { by = counts.titles[1], top = options.top }
  local by_whom = view.new(columns)
  return nil, function(partial)
    local rows, before = counts:rows(), since
    since = up.now()
    if not options.interval then return by_whom:print(rows) end
    by_whom:refresh(rows, heading({ time = since, interval = since - before }, partial), before, since)
  end
end

-- --- the run ---

local declare = options.by and declare_by or options.live and declare_live or declare_lines
local begin, report, finish = declare()
up.at_start(function()
  counts:clear()
  since = up.now()
  began = since
  if begin then begin() end
end)
if options.interval or not options.by then
  up.every(options.interval or "1s", function()
    report()
    counted_one()
  end)
end
local function report_rest()
  if since and times ~= options.count then report(true) end
end
if options.by then up.at_exit(report_rest) else up.at_stop(report_rest) end
if finish then up.at_exit(finish) end
