--[=[
stat: how often does each of several things happen, second by second?

  uplua stat.lua [options] SPEC ... [-- PID ... or COMMAND]

prints a line each second with the hits of each spec since the line before, and the sums at the end. What was counted
since the last whole second is a line that tells how long that was.

  -i, --interval TIME    a line each TIME (default 1s)
  -c, --count N          ends after N lines

A spec is libc:malloc, syscall:openat, kprobe:vfs_read, tracepoint:sched:sched_switch, usdt:./app:shop:sold, or an event
that the kernel counts: perf:instructions, perf:page-faults, perf:context-switches. What a pattern names is one column.
Without a period events cost nothing: the kernel counts them, and no handler runs.
Where the CPU has too few counters for all events, each counts for a share of the time: 2,470,000 (82.3 %) is scaled up.

  $ uplua stat.lua libc:malloc libc:free syscall:'*' perf:page-faults -- redis-server
--]=]
local up    = require "uplua"
local specs = require "uplua.specs"
local text  = require "uplua.text"

local options = up.args {
  "stat.lua [options] SPEC ... [-- PID ... or COMMAND]",
  { "interval,i", "TIME", "duration", "1s",  "a line each TIME", least = "10ms" },
  { "count,c",    "N",    "integer",  false, "end after N lines", least = 1 },
}
if #options == 0 then up.args.fail "no probes to count: give specs, such as syscall:openat or perf:page-faults" end

local hits = up.count()
-- { title, width, clear, take = what was counted since the last time, sum = … since the beginning, each with its share
-- of the time }
local columns = {}

-- SPEC's last PARTS parts, of C++ names with their classes.
local function last_parts(spec, parts)
  local event = specs.counted(spec)
  if event then return event end
  local plain, at = spec:gsub("::", "\1\1"), #spec + 1
  for _ = 1, parts do at = plain:sub(1, at - 1):match ".*():" or 0 end
  return spec:sub(at + 1)
end

-- The specs of LIST as short as tells each from the others and from any pattern: "malloc", "libc:*".
local function titles_of(list)
  local parts, titles, again = {}, {}, true
  while again do
    local seen = {}
    again = false
    for i, spec in ipairs(list) do
      titles[i] = last_parts(spec, parts[i] or 1)
      seen[titles[i]] = (seen[titles[i]] or spec) == spec and spec or false
    end
    for i, spec in ipairs(list) do
      local ambiguous = not titles[i]:find "%a" or not seen[titles[i]]
      if ambiguous and #titles[i] < #spec and not specs.counted(spec) then
        parts[i], again = (parts[i] or 1) + 1, true
      end
    end
  end
  return titles
end

local function hits_column(i)
  local first, before = 0, 0
  return {
    clear = function() first, before = hits[i], hits[i] end,
    take = function()
      local n = hits[i] - before
      before = before + n
      return n, 1
    end,
    sum = function() return before - first, 1 end,
  }
end

local function counter_column(event)
  local good, counter = pcall(up.counter, event)
  if not good then up.args.fail("%s", counter) end
  local sum, known, least = 0, false, 1 -- of what the lines show
  return {
    clear = function() counter:clear() end,
    take = function()
      local n, share = counter:take()
      sum, known, least = sum + (n or 0), known or n ~= nil, math.min(least, share)
      return n, share
    end,
    sum = function() return known and sum or nil, least end,
  }
end

for i, title in ipairs(titles_of(options)) do
  local spec = options[i]
  local event = specs.counted(spec)
  if not event then up.probe(spec, function() hits[i]:inc() end) end
  columns[i] = event and counter_column(event) or hits_column(i)
  columns[i].title, columns[i].width = text.escape(title), math.max(#text.escape(title), 11)
end

local function print_line(head, field, rest)
  local cells = {}
  for i, column in ipairs(columns) do cells[i] = ("%" .. column.width .. "s"):format(field(column, i)) end
  up.printf("%-15s  %s%s\n", head, table.concat(cells, "  "), rest or "")
  io.stdout:flush()
end

-- Numbers as they were counted; those that are scaled with their share, as perf stat shows them.
local function shown(n, share)
  if not n then return "not counted" end
  return text.thousands(n) .. (share < 1 and (" (%.1f %%)"):format(math.min(99.9, 100 * share)) or "")
end

local lines, since = 0, nil

-- Prints what was counted since the last line; PARTIAL: an interval is not over.
local function report(partial)
  local now, cells, any = up.now(), {}, false
  for i, column in ipairs(columns) do
    local n, share = column.take()
    cells[i], any = shown(n, share), any or n ~= 0
  end
  if any or not partial then
    local rest = partial and ("  in %s"):format(text.time(now - since))
    print_line(up.clock(now), function(_, i) return cells[i] end, rest)
  end
  since = now
end

up.at_start(function()
  for _, column in ipairs(columns) do column.clear() end
  since = up.now()
  print_line("Time", function(column) return column.title end)
end)

up.every(options.interval, function()
  report()
  lines = lines + 1
  if lines == options.count then up.exit() end
end)

up.at_stop(function()
  if since and lines ~= options.count then report(true) end
end)

up.at_exit(function()
  if since then print_line("Sum", function(column) return shown(column.sum()) end) end
end)
