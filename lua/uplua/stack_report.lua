-- The reports of scripts that count by stack, and the options that choose between them: functions, lines, stacks, who
-- calls a function, what differs from another run; at the end, or for each interval, where a table on a terminal lives.
--
--   local report = require "uplua.stack_report"
--   local options = up.args { "name.lua [options]", report.options "functions", … }  -- or "stacks": what comes unasked
--   report.check(options)
--   local n = up.count()
--   up.profile(99, function(e) n[e:stack()]:inc() end)
--   report.run(options, { numbers = n, noun = "sample" })
--
-- What run is given, DECLARED, has
--   numbers   a count or a sum by stack, or by { who, stack }
--   who       whose the stacks are (uplua.by), of such a tuple; in its place a function of the key, label, and what
--             such a one is called, label_title
--   times     a count with the same keys: how often
--   sums      what else is summed with the same keys (by.sums)
--   unit      of the numbers: "count" or "ns"
--   noun      what one of them is called: "sample", "hit", "wait"
--   told      a function of the sum: what the last line begins with; without it "54 samples"
--   hertz     of samples of the CPUs' time: how many of them make a second, for the time that they stand for
--   show      a function of a row and the sum: the line below a stack
--   rank      what the first stacks are: "most frequent"
--   others    a count of what was left out on purpose, and `other`, what one of these is called ("other")
--   open      of waits: a map of { since, stack } by thread, what has begun and not ended. The report says at its end
--             what that is, and which threads have waited all the time
--   innermost where given, self counts for the first function of a stack for which innermost(frame) is true, and what
--             is above that is in no table of functions
--   title, file_unit  of the files of stacks
local args    = require "uplua.args"
local capture = require "uplua.compile.capture"
local files   = require "uplua.stack_files"
local ongoing = require "uplua.stack_report.ongoing"
local stacks  = require "uplua.stacks"
local text    = require "uplua.base.text"
local up      = require "uplua"
local view    = require "uplua.view"

local report = {}

local TOP = 20
local LEAST = 0.5 -- percent of the samples of --callers FUNC: callers with less are left out

-- The rows for up.args, one list. BY is what the report shows unasked, "functions" or "stacks".
function report.options(by)
  if by ~= "functions" and by ~= "stacks" then
    error('stack_report.options: "functions" or "stacks" is expected: what the report shows', 2)
  end
  return {
    { "top,n", "N", "integer", false, ("the first N functions, lines or stacks (%d; 0: all)"):format(TOP) },
    by == "stacks" and { "functions",        "a table of functions, not stacks" } or { "stacks,S", "whole stacks" },
    { "lines,l",                             "by line of the source; of stacks each with its line" },
    { "callers,c", "FUNC", "string", false,  "who calls FUNC, as a tree" },
    { "interval,i", "TIME", "duration", false, "a table for each TIME", least = "100ms" },
    { "user,U",                              "the programs' part of stacks only" },
    { "kernel,K",                            "the kernel's part only" },
    files.output, files.folded, files.flame, files.diff, files.before,
  }
end

-- The stack that OPTIONS ask for, as a function for handlers.
function report.stack(options)
  if options.user then return capture.inlined(function(e) return e:ustack() end) end
  if options.kernel then return capture.inlined(function(e) return e:kstack() end) end
  return capture.inlined(function(e) return e:stack() end)
end

-- What the report shows, of "functions", "instructions", "stacks", "callers" and "changes".
local function kind_of(options)
  local of_stacks = options.stacks or options.functions == false
  return options.diff and "changes" or options.callers and "callers" or options.instructions and "instructions"
    or of_stacks and "stacks" or "functions"
end

-- Before the run: ends the script where options do not go together, or a file cannot be read or written.
function report.check(options)
  local fail = args.fail
  if options.user and options.kernel then fail "--user and --kernel together leave nothing" end
  files.check(options)
  local chosen = {}
  for _, name in ipairs { "stacks", "functions", "instructions", "callers", "diff" } do
    if options[name] then chosen[#chosen + 1] = "--" .. name end
  end
  if options.diff and (chosen[2] or options.lines or options.interval) then
    fail "--diff is a table of functions; leave out --lines, --stacks, --instructions, --callers, --interval"
  end
  if chosen[2] then fail("%s and %s: choose one", chosen[1], chosen[2]) end
  if options.interval and (options.flame or options.pprof or options.callers) then
    fail "--interval is for tables and folded stacks; leave out --callers, --flame and the other files of -o"
  end
  if options.lines and (options.callers or options.instructions) then
    fail "--lines is for functions and stacks; leave out --callers and --instructions"
  end
  if options.lines and kind_of(options) == "stacks" then require "uplua.options".lines = true end -- as of all scripts
end

local Report = {}
Report.__index = Report

local function key_of(row) return row.id or (row.label or "") .. "\n" .. tostring(row.stack.id) end

-- Gives ROWS the fields of the sums, whose integers of 64 bits stay exact.
local function add_sums(self, rows)
  for _, row in ipairs(rows) do
    for _, key in ipairs(row.keys) do
      local filled = self.sums:fill({}, key)
      for _, column in ipairs(self.sum_columns) do
        local field = column[1]
        row[field] = row[field] and row[field] + filled[field] or filled[field]
      end
    end
  end
end

-- The rows of NUMBERS, with their times and sums, and the sum of the numbers; APART: as of stacks.rows.
local function rows_of(self, numbers, times, apart)
  local rows, sum = stacks.rows(numbers, self.label, apart)
  if times then
    local often = {}
    for _, row in ipairs((stacks.rows(times, self.label, apart))) do often[key_of(row)] = row.number end
    for _, row in ipairs(rows) do row.times = often[key_of(row)] or 0 end
  end
  if self.sum_columns[1] then add_sums(self, rows) end
  return rows, sum
end

local SHOW = { count = text.thousands, bytes = text.bytes, ns = text.time, number = text.plain }

-- "  n 64 B, other 3": the sums of ROW as text.
local function sums_text(self, row)
  local words = {}
  for i, column in ipairs(self.sum_columns) do
    words[i] = ("%s %s"):format(text.escape(column[2]), SHOW[column[3]](row[column[1]]))
  end
  return #words > 0 and "  " .. table.concat(words, ", ") or ""
end

-- The functions, lines or instructions of ROWS, whether these are of several processes, and the view that shows them.
local function table_of(self, rows, sum)
  local options = self.options
  local whole, by = self.kind ~= "instructions", options.lines and "line" or nil
  local list = whole and stacks.functions(rows, by, self.innermost, self.sum_fields)
    or stacks.instructions(rows, self.sum_fields)
  local several = options.interval ~= nil
  for _, one in ipairs(list) do
    one.self_share, one.total_share, one.bar = 100 * one.self / sum, 100 * one.total / sum, one.self / sum
    several = several or one.label ~= list[1].label
  end
  several = several and self.label ~= nil
  return list, several, view.new {
    { "self", "Self", self.unit }, { "self_share", "Self %", "percent" }, { "bar", "", "bar" },
    whole and { "total", "Total", self.unit }, whole and { "total_share", "Total %", "percent" },
    self.times and { "times", "Times", "count" }, self.sum_columns,
    not whole and { "code", "Instruction" }, { "name", "Function" }, not whole and { "address", "Address" },
    (by or not whole) and { "at", "Line" }, { "module", "File" }, several and { "label", self.title_of_label },
    top = self.top,
  }
end

local NAMELESS = 10 -- percent of all in functions without a name: from there on it is said what to do about it

-- Keeps of LIST, the rows of functions, what is to be said of those without a name.
local function note_nameless(self, list)
  local shares, file = {}, nil -- of files; the one with the most
  for _, one in ipairs(list) do
    if one.nameless then
      shares[one.module] = (shares[one.module] or 0) + one.self_share
      if not file or shares[one.module] > shares[file] then file = one.module end
    end
  end
  if not file or shares[file] < NAMELESS then return end
  local instructions = self.options.instructions == false and ", or see --instructions" or ""
  self.nameless = ("%s has no names for %.0f %% of this: install its symbols, as a package NAME-dbgsym%s")
    :format(text.escape(file), shares[file], instructions)
end

local NOUNS = { functions = "function", instructions = "instruction" }

local function print_functions(self, rows, sum)
  if not rows[1] then return "" end
  local list, several, table_of_functions = table_of(self, rows, sum)
  table_of_functions:print(list)
  note_nameless(self, list)
  local most = self.top == 0 and #list or math.min(self.top, #list)
  local many = text.plural(#list, self.options.lines and "line" or NOUNS[self.kind])
  return (most < #list and " in %s, of which the first %d are above" or " in %s"):format(many, most)
    .. (several and "" or list[1] and list[1].label and ("; all of %s"):format(text.escape(list[1].label)) or "")
end

local function print_stacks(self, rows, sum)
  local function show(row)
    return (self.show and self.show(row, sum) or text.thousands(row.number)) .. sums_text(self, row)
  end
  local columns = { { "number", self.title_of_numbers, self.unit }, { "label", self.title_of_label, "text" } }
  if self.times then columns[3] = { "times", "Times", "count" } end
  for _, column in ipairs(self.sum_columns) do columns[#columns + 1] = column end
  local shown = stacks.print(rows, self.top, show, columns)
  return " in " .. stacks.told(rows, shown, self.rank)
end

-- ONE of stacks.callers as a line of its tree.
local function branch_of(one)
  return ("  "):rep(one.branch and one.depth - 1 or one.depth) .. (one.branch and "- " or "") .. one.name
end

local function number_of(self, number)
  return self.unit == "ns" and text.time(number) or text.thousands(number)
end

local function print_callers(self, rows, sum)
  local func = self.options.callers
  local list, tree, left_out = stacks.callers(rows, func), {}, 0
  if not list[1] then return (", none of them in %s"):format(text.escape(func)) end
  for _, one in ipairs(list) do
    one.share = 100 * one.number / list[1].number
    one.shown = branch_of(one)
    if one.share >= LEAST then tree[#tree + 1] = one else left_out = left_out + 1 end
  end
  local of_tree = #tree
  for i = of_tree, self.top > 0 and self.top + 1 or math.huge, -1 do tree[i] = nil end
  local as_data = view.new {
    { "depth", "Depth", "number" }, { "name", "Function" }, { "number", self.title_of_numbers, self.unit },
    { "share", "Share", "percent" },
  }
  if not as_data:data(tree) then
    view.new {
      { "number", self.title_of_numbers, self.unit }, { "share", "Share", "percent" },
      { "shown", "Function, and who calls it" },
    }:print(tree)
  end
  local rest = left_out > 0 and ("; %s with less than %g %% left out"):format(text.plural(left_out, "caller"), LEAST)
  local cut = of_tree > #tree and ("; the first %d of %d lines"):format(#tree, of_tree) or ""
  return (", %s of them in %s: %.1f %%%s%s"):format(number_of(self, list[1].number), text.escape(func),
    100 * list[1].number / sum, rest or "", cut)
end

local function print_changes(self, rows)
  local list = files.changes(self.options, stacks.named(rows))
  view.new {
    { "before", "Self before", "percent" }, { "now", "Self now", "percent" }, { "change", "Change", "percent" },
    { "total_before", "Total before", "percent" }, { "total_now", "Total now", "percent" }, { "name", "Function" },
    top = self.top,
  }:print(list)
  return (" in %s of both runs; before is %s"):format(text.plural(#list, "function"), text.escape(self.options.diff))
end

local PRINT = {
  functions = print_functions, instructions = print_functions, stacks = print_stacks, callers = print_callers,
  changes = print_changes,
}

local function left_out(self, n)
  if n == 0 then return "" end
  return ("; %s left out"):format(text.plural(n, self.other .. " was", self.other:gsub("^%a+", "%0s") .. " were"))
end

-- What SUM samples stand for, beside the time of the run: few of them are an idle program, and no mistake.
local function cpu_time(self, sum)
  if not self.hertz then return "" end
  return ("; about %s of CPU time in %s"):format(text.time(sum * 1e9 / self.hertz), text.time(self.ended - self.since))
end

-- What Enter shows of FUNC, a function with a label, where the table lives: who calls it there.
local function callers_of(self, rows, func)
  local own, lines = {}, { ("%8s  Function, and who calls it"):format(self.title_of_numbers) }
  for _, row in ipairs(rows) do
    if row.label == func.label then own[#own + 1] = row end
  end
  for _, one in ipairs(stacks.callers(own, func.name)) do
    lines[#lines + 1] = ("%8s  %s"):format(number_of(self, one.number), branch_of(one))
  end
  return table.concat(lines, "\n")
end

-- The table of an interval, and the view that shows it: of stacks a line each.
local function table_of_interval(self, rows, sum)
  if self.kind ~= "stacks" then
    local list, _, table_of_functions = table_of(self, rows, sum)
    for _, one in ipairs(list) do
      one.behind = function() return callers_of(self, rows, one) end
    end
    return list, table_of_functions
  end
  for _, row in ipairs(rows) do
    row.share = 100 * row.number / sum
    row.shown = row.stack:text { one_line = true, offsets = false }:gsub("^%s+", "")
  end
  return rows, view.new {
    { "number", self.title_of_numbers, self.unit }, { "share", "Share", "percent" },
    self.times and { "times", "Times", "count" }, self.sum_columns,
    self.label and { "label", self.title_of_label }, { "shown", "Stack" },
    top = self.top,
  }
end

local function told(self, sum) return self.told and self.told(sum) or text.plural(sum, self.noun) end

-- Adds the stacks of an interval that began at SINCE, as ROWS have them, to the file of --folded: in microseconds,
-- where the rows have ns.
local function append(self, rows, since)
  if not self.options.folded then return end
  local stacks_of_file = {}
  for key, number in pairs(stacks.named(rows)) do
    stacks_of_file[key] = self.unit == "ns" and math.floor(number / 1000 + 0.5) or number
  end
  files.append(self.options, since, stacks_of_file)
end

local function print_interval(self)
  local now = up.now()
  local numbers, times = self.numbers:take(), self.times and self.times:take()
  if self.sums then self.sums:take() end
  local n = self.others and self.others:take():get() or 0
  local rows, sum = rows_of(self, numbers, times, self.kind ~= "stacks")
  append(self, rows, self.since)
  local list, shown = table_of_interval(self, rows, sum)
  self.last = self.last or shown
  self.last:refresh(list, ("%s  %s in %s%s"):format(up.clock(now), told(self, sum), text.time(now - self.since),
    left_out(self, n)), self.since, now)
  self.since = now
end

local function print_report(self)
  if self.sums then self.sums:take() end
  local rows, sum = rows_of(self, self.numbers, self.times, self.kind ~= "stacks")
  local rest = PRINT[self.kind](self, rows, sum)
  if rows[1] and self.kind ~= "stacks" then text.printf("\n") end
  local others = self.others and self.others:get() or 0
  text.printf("%s%s%s%s\n", told(self, sum), rest, cpu_time(self, sum), left_out(self, others))
  if self.nameless then text.printf("%s\n", self.nameless) end
  for _, line in ipairs(self.ongoing and self.ongoing() or {}) do text.printf("%s\n", line) end
  if self.unit == "ns" then
    for _, row in ipairs(rows) do row.number = math.floor(row.number / 1000 + 0.5) end -- files have microseconds
  end
  files.write(self.options, stacks.named(rows), { title = self.title, unit = self.file_unit })
end

-- Fields that rows have anyway.
local TAKEN = {}
for name in ("stack number label id times share shown self total name module at behind bar code address self_share " ..
  "total_share"):gmatch "%S+" do TAKEN[name] = true end

-- The columns of SUMS (nil: none), and their fields.
local function columns_of_sums(sums)
  local columns, fields = sums and sums.columns or {}, {}
  for i, column in ipairs(columns) do
    if TAKEN[column[1]] then
      args.fail("--sum: the report has a field '%s' itself; name this one: --sum NAME=EXPR", column[1])
    end
    fields[i] = column[1]
  end
  return columns, fields
end

-- ongoing(map): for reports of waits of one's own, to be called before the probes are there: a function that returns at
-- the end the lines about waits that have not ended. MAP is DECLARED's `open`.
report.ongoing = ongoing.new

-- Prints, at the run's end or for each interval, what OPTIONS ask for of what is DECLARED (see above).
function report.run(options, declared)
  if type(declared) ~= "table" or not declared.numbers then
    error("stack_report.run: the second argument is a table with numbers, a count or a sum by stack", 2)
  end
  local who = declared.who
  local self = setmetatable({
    options = options, kind = kind_of(options), numbers = declared.numbers, times = declared.times,
    others = declared.others, other = declared.other or "other", unit = declared.unit or "count",
    noun = declared.noun or "hit", told = declared.told,
    hertz = declared.hertz, ended = nil,
    show = declared.show, rank = declared.rank or "most frequent", innermost = declared.innermost,
    title = declared.title, file_unit = declared.file_unit, since = nil, last = nil,
    ongoing = declared.open and ongoing.new(declared.open),
    label = declared.label or who and function(key) return who:text(key[1]) end or nil,
    title_of_label = declared.label_title or who and who.title or "Of",
    top = options.top or options.callers and 0 or TOP,
  }, Report)
  self.sums = declared.sums
  self.sum_columns, self.sum_fields = columns_of_sums(self.sums)
  local many = text.plural(2, self.noun):match "%a.*"
  self.title_of_numbers = self.unit == "ns" and "Time" or many:gsub("^%l", string.upper)
  up.at_start(function() self.since = up.now() end)
  up.at_stop(function() self.ended = up.now() end)
  if options.interval then up.every(options.interval, function() print_interval(self) end) end
  up.at_exit(function() -- the rest of an interval has no table of its own
    if not options.interval then return print_report(self) end
    if not self.last then print_interval(self) else append(self, (rows_of(self, self.numbers:take())), self.since) end
    files.tell(options)
  end)
end

return report
