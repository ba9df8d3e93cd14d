-- The reports of states: a row for each key, and the tables.
local aggregate = require "uplua.objects.aggregate"
local capture   = require "uplua.compile.capture"
local format    = require "uplua.objects.format"
local interval  = require "uplua.base.interval"
local object    = require "uplua.objects.object"
local proc      = require "uplua.base.proc"
local record    = require "uplua.objects.record"
local run       = require "uplua.base.run"
local terminal  = require "uplua.term.terminal"
local text      = require "uplua.base.text"
local view      = require "uplua.view"

local report = {}

local TOP = 20            -- keys that are shown, if nobody says
local MOST_LEFT = 65536   -- rows of keys that have left; what further ones have been in is one row

-- The name and the process of the thread TID: as /proc has them, or as it was called when it exited.
local function thread_of(self, tid)
  local status = proc.status(tid)
  local comm, pid = status:match "^Name:%s*([^\n]*)", tonumber(status:match "\nTgid:%s*(%d+)")
  local exited = self.exited[tid] or {}
  return comm or exited.comm or "?", pid or exited.pid
end

-- Names the thread of ROW, whose key is its number.
local function name_thread(self, row)
  row.tid = tonumber(row.key)
  row.comm, row.pid = thread_of(self, row.tid)
end

-- Adds NS to what ROW has of the state NAME.
local function add(row, name, ns, times, longest)
  row[name] = row[name] + ns
  row[name .. " times"] = row[name .. " times"] + times
  row[name .. " longest"] = math.max(row[name .. " longest"], longest)
  row.total = row.total + ns
end

local function new_row(self, key)
  local row = { key = key, total = 0 }
  for _, name in ipairs(self.names) do row[name], row[name .. " times"], row[name .. " longest"] = 0, 0, 0 end
  return row
end

-- A row for KEY as R, its entry in the kernel, or a record of its end, has it.
local function row_of(self, key, r)
  local row = new_row(self, key)
  for i, name in ipairs(self.names) do add(row, name, r["total" .. i], r["count" .. i], r["longest" .. i]) end
  return row
end

-- ROW's key has been in the state NAME since SINCE, and is still at NOW.
local function add_present(row, name, since, now)
  row.state, row.age = name, math.max(now - since, 0)
  add(row, name, row.age, 0, row.age)
end

local function is_thread(self) return self.keys == "thread" end

local untold = run.part(function() return {} end) -- { count, title } each: times that would be negative

-- A count for handlers of what was told out of order, of keys that are called TITLE.
function report.backwards(title)
  local count = aggregate.keep_quiet(require "uplua".count())
  table.insert(untold(), { count, title or "key" })
  return count
end

-- For the ledger.
function report.lost()
  local list = {}
  for i, one in ipairs(untold()) do
    list[i] = { ("states of a %s: told out of order, time not counted"):format(one[2]:lower()), one[1]:get() }
  end
  return list
end

-- A ring for what handlers tell the report.
function report.ring()
  return object.advise(require "uplua".ring { order = false }, "trace fewer threads, or let uplua have more of a CPU")
end

-- Keeps what leaves, what threads are called at their exit, and when the probes see no more.
function report.collect(self)
  local up = require "uplua"
  up.at_stop(function() self.stopped = up.now() end)
  if is_thread(self) then
    local exits, exited = report.ring(), self.exited
    up.raw_tracepoint("sched_process_exit", { all = true, every_cpu = true }, capture.inlined(function(e)
      exits:emit { pid = e.pid, tid = e.tid, comm = e.comm }
    end))
    exits:each(function(e) exited[tonumber(e.tid)] = { pid = e.pid, comm = e.comm } end)
  end
  self.gone:each(function(left)
    local key = up.copy(left).key
    local row = row_of(self, key, left)
    if is_thread(self) then row.tid, row.pid, row.comm = tonumber(key), left.pid, left.comm end
    local list = self.left
    if #list < MOST_LEFT then
      list[#list + 1] = row
      return
    end
    list.others = list.others or new_row(self, "others")
    for _, name in ipairs(self.names) do
      add(list.others, name, row[name], row[name .. " times"], row[name .. " longest"])
    end
  end)
end

-- Adds to ROWS the threads that have been in one state all the time: those that were found and are not KNOWN.
local function add_found(self, rows, known, now)
  for key, o in self.found:pairs() do
    if not known[record.show(key)] then
      local row = new_row(self, key)
      add_present(row, self.names[o.state], o.since, now)
      name_thread(self, row)
      rows[#rows + 1] = row
    end
  end
end

-- The rows, and which of them are of keys that are paused.
function report.rows(self)
  local up = require "uplua"
  local now, rows, known, paused = self.stopped or up.now(), {}, {}, {}
  for _, row in ipairs(self.left) do rows[#rows + 1] = row end
  rows[#rows + 1] = self.left.others
  for key, r in self.now:pairs() do
    local row = row_of(self, key, r)
    if r.state == 0 then
      paused[row] = true
    else
      add_present(row, self.names[tonumber(r.state)], r.since, now)
    end
    if is_thread(self) then name_thread(self, row) end
    known[record.show(key)] = true
    rows[#rows + 1] = row
  end
  if self.found then add_found(self, rows, known, now) end
  return rows, paused
end

-- Of ROWS, some of which are PAUSED, what is new since the last call: without the longest times, which may be older.
local function only_new(self, rows, paused)
  local before, after = self.before or {}, {}
  for _, row in ipairs(rows) do
    local id = record.show(row.key)
    local was = before[id]
    if row.state or paused[row] then after[id] = setmetatable({}, { __index = row }) end
    row.total = 0
    for _, name in ipairs(self.names) do
      local all = { row[name], row[name .. " times"] }
      if after[id] then after[id][name], after[id][name .. " times"] = unpack(all) end
      row[name] = all[1] - (was and was[name] or 0)
      row[name .. " times"] = all[2] - (was and was[name .. " times"] or 0)
      row[name .. " longest"] = nil
      row.total = row.total + row[name]
    end
  end
  self.before, self.left = after, {}
  return rows
end

-- The view NAME of DECLARATION: that which showed these columns before, where there is one: on a terminal it lives.
local function view_of(self, name, declaration)
  self.views = self.views or {}
  local id = name
  for _, column in ipairs(declaration) do id = id .. "\n" .. column[1] end
  self.views[id] = self.views[id] or view.new(declaration)
  return self.views[id]
end

-- Whether what is printed are tables that live on a terminal, where lines between them have no place.
local function lives()
  local live = package.loaded["uplua.view.live"]
  return interval.now() and live and live.is_open()
end

-- Whether they may: then a table has the same columns each time.
local function may_live()
  return interval.now() and terminal.interactive() and not format.is_file() and not format.is_data()
end

-- Prints the times in each state, as the kernel has them, and as ROWS have: a list of the states' names, those that are
-- shown.
local function print_states(self, rows, by, anew)
  local sums, all = {}, 0
  for i, name in ipairs(self.names) do
    local h = anew and self.times[i]:take():get() or not anew and self.times[i]:get()
    local row = { name = name, total = 0, times = 0 }
    if h and h.count > 0 then
      row.times, row.longest = h.count, h.max
      row.p50, row.p99 = h:percentile(50), h:percentile(99)
    end
    for _, of in ipairs(rows) do
      row.total = row.total + of[name]
      local longest = of[name] > 0 and of[name .. " longest"]
      if longest then row.longest = math.max(row.longest or 0, longest) end
    end
    all, sums[i] = all + row.total, row
  end
  for _, row in ipairs(sums) do row.share = all > 0 and row.total / all * 100 or 0 end
  if not format.is_data() and not may_live() then -- nobody needs to read what has not been
    for i = #sums, 1, -1 do
      if sums[i].total == 0 and sums[i].name ~= by then table.remove(sums, i) end
    end
  end
  view_of(self, "states", {
    { "name", "State" }, { "times", "Times", "count" }, { "p50", "p50", "ns" }, { "p99", "p99", "ns" },
    { "longest", "Longest", "ns" }, { "total", "Total", "ns" }, { "share", "Share", "percent" }, by = "total",
  }):print(sums)
  local names = {}
  for i, row in ipairs(sums) do names[i] = row.name end
  return names
end

local function print_keys(self, rows, names, options)
  local by, top, anew = options.by, options.top or TOP, options.anew
  local columns = { { "key", self.title }, by = by or "total", top = top }
  if is_thread(self) then columns = { { "comm", self.title }, { "pid", "PID", "number" }, { "tid", "TID", "number" },
                                      by = columns.by, top = top } end
  for _, name in ipairs(names) do columns[#columns + 1] = { name, name, "ns" } end
  if by then columns[#columns + 1] = { by .. " times", "Times " .. by, "count" } end
  if by and not anew then columns[#columns + 1] = { by .. " longest", "Longest " .. by, "ns" } end
  local shown = view_of(self, "keys", columns):print(rows)
  if not format.is_data() and not lives() and #shown < #rows then
    io.stdout:write(("… and %s\n"):format(text.plural(#rows - #shown, "other")))
  end
end

-- KEY as one text; of a thread by its name, too.
local function key_text(self, key)
  if not is_thread(self) then return record.show(key) end
  return ("%s (thread %d)"):format(thread_of(self, tonumber(key)), key)
end

-- The line of S, one of the longest times, as a row and further lines: the stacks.
function report.line(self, s)
  local below = {}
  local function add_below(title, value)
    local shown = value ~= nil and record.show(value)
    if shown and not shown:find "\n" then
      below[#below + 1] = ("    %s %s"):format(title, shown)
    elseif shown then
      below[#below + 1] = "    " .. title
      for line in shown:gmatch "[^\n]+" do below[#below + 1] = "    " .. line end
    end
  end
  add_below("in", s.cause)
  add_below("ended in", s.stack)
  local by = s.pid == 0 and s.comm or ("%s (pid %d, thread %d)"):format(s.comm, s.pid, s.tid)
  return { elapsed = s.elapsed, state = s.name, who = key_text(self, s.key), at = s.since + s.elapsed,
           ended = by }, #below > 0 and below or nil
end

local WIDEST = 32 -- columns of a key

-- The same where tables live: the stacks are behind the rows.
local function show_longest(self, by, list)
  local rows = {}
  for i, s in ipairs(list) do
    local row, below = report.line(self, s)
    row.behind, rows[i] = below and table.concat(below, "\n"), row
  end
  view_of(self, "longest", {
    { "elapsed", "Longest " .. by, "ns" }, { "who", self.title }, { "at", "Until", "clock" }, { "ended", "Ended by" },
    by = "elapsed",
  }):print(rows)
end

local function print_longest(self, by, list)
  if lives() then return show_longest(self, by, list) end
  local lines = view.stream {
    { "elapsed", "Longest " .. by, "ns", #"Longest " + #by }, { "who", self.title, "text", WIDEST },
    { "at", "Until", "clock" }, { "ended", "Ended by" },
  }
  lines:titles()
  for _, s in ipairs(list) do lines:print(report.line(self, s)) end
end

function report.print(self, options)
  local function gap()
    if not format.is_data() and not lives() then io.stdout:write "\n" end
  end
  local rows, paused = report.rows(self)
  local anew = options.anew
  if anew then rows = only_new(self, rows, paused) end
  local names = print_states(self, rows, options.by, anew)
  gap()
  print_keys(self, rows, names, options)
  local number = self.numbers[options.by]
  if not number or self.longest.most == 0 then return end
  local list = self.longest:of(number)
  if anew then self.longest:clear() end
  if #list == 0 then return end
  gap()
  print_longest(self, options.by, list)
end

return report
